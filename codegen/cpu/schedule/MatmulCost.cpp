//===- MatmulCost.cpp - See MatmulCost.h ----------------------------------===//
#include "codegen/cpu/schedule/MatmulCost.h"
#include "codegen/cpu/GridCodes.h"
#include "codegen/cpu/MatmulTile.h"
#include "codegen/cpu/PanelGroup.h"
#include "codegen/cpu/schedule/MatmulSchedule.h"
#include "dialects/kernel/ops/Matmul.h"
#include "runtime/abi/Routes.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;
using kernel::RowKind;

namespace {

/// Instruction counts per group of 32 k and register of rows. Some are also per token, as noted.
struct GroupCounts {
  double multiply = 0; ///< per token
  double others = 0;   ///< per token
  double unpack = 0;
  double loads = 0;      ///< loads of codes and scales
  double broadcasts = 0; ///< per token; shared by the registers of a tile
};

/// Prefetch distance of schedules that prefetch one line per kilobyte (docs/cpu.md).
constexpr int64_t kPrefetchBytes = 16384;
constexpr double kEpilogue =
    40; ///< cycles of a tile outside its loop, per token and panel: a guess
constexpr double kImperfect = 1.0 / 8;
constexpr double kL2Share =
    3.0 / 8; ///< for rows of x; the rest for panels, outputs and prefetching

/// Cycles of one multiplication of two tiles, which is 2 * 16 * 16 * 32 operations (Intel's optimisation manual, 20.5).
constexpr double kAmxCycles = 16;

double overlap(double a, double b) { return std::max(a, b) + kImperfect * std::min(a, b); }

NumericFormat formatOf(kernel::MatmulOp op, size_t weight) {
  return cast<lm::WeightType>(op.getWeights()[weight].getType()).numeric();
}

bool isQuantised(RowKind kind) { return kind == RowKind::Q8 || kind == RowKind::Q8x2; }

/// Returns the number of instructions that unpack the codes of a group.
double unpacking(const NumericFormat &format, const Isa &isa) {
  switch (format.packing) {
  case NumericFormat::Packing::Planes:
    break;
  case NumericFormat::Packing::Bit1:
    return 16;
  case NumericFormat::Packing::Trits:
    return isa.vbmi ? 26 : 34;
  case NumericFormat::Packing::Grid:
    const Grid &grid = *format.grid;
    // Look-ups in tables of 128 bytes, instructions that join the results, then four instructions per step.
    if (GridCodes::permutes(grid, isa))
      return double(indexLines(grid)) * 4 * (grid.count() / 128) + 4 * 8;
    return 32.0 / grid.run * (2 * isa.lanes + 6) + 5 * 8; // a gather reads lane by lane
  }
  const int shiftsAndMasks = format.bits == 8 ? 0 : upperBitsOf(format.bits) == 0 ? 12 : 28;
  return shiftsAndMasks + 8 * (format.table != nullptr);
}

GroupCounts countsOfDots(const NumericFormat &format, const Isa &isa) {
  GroupCounts counts;
  const bool halves = format.group == 16;
  counts.multiply = 2 + format.hasMin + 2 * halves; // scale, fma; m; two 16-dots
  counts.multiply += 3 * (halves && format.hasMin); // two minimums of 16, and their scale
  counts.multiply += 4 * format.floatSubScales;     // a scale and an fma per half
  counts.others = 1;                                // conversion of the dot
  counts.loads = double(codeBytesOfGroup(format)) / kPanelLine + 1;
  counts.broadcasts = 8 + 2 + format.hasMin;
  counts.unpack = 2 + 4 * (format.superGroup != 0) + unpacking(format, isa);
  if (isa.dot == DotKind::Vpdpbusd) {
    counts.multiply += 8;
    return counts;
  }
  const int steps = std::clamp(32767 / (2 * 127 * format.largest()), 0, halves ? 4 : 8);
  const bool signs = steps == 0; // x takes the sign of w
  counts.multiply += 8 + 8.0 / std::max(steps, 1);
  counts.others += 8 + (signs ? 8 : 0); // sums
  counts.unpack += signs ? 16 : 0;
  return counts;
}

GroupCounts countsOf(kernel::MatmulOp op, const NumericFormat &format, const Isa &isa) {
  if (isQuantised(op.xType().getKind())) {
    GroupCounts counts = countsOfDots(format, isa);
    if (op.xType().getKind() != RowKind::Q8x2)
      return counts;
    if (format.group == 16) { // each plane has its own fma
      counts.multiply *= 2, counts.others *= 2, counts.broadcasts *= 2;
      return counts;
    }
    GroupCounts dots = countsOfDots(format, isa);
    counts.multiply += dots.multiply - 2 - format.hasMin; // the dots alone
    counts.others += dots.others - 1 + 2;                 // a shift and the second zero point
    counts.broadcasts += 9;
    return counts;
  }
  if (format.isFloat() && arithmeticOf(op, isa) == Arithmetic::Bf16)
    return {16, 0, 0, 16, 16};
  // One fma per k; codes are converted to f32 one by one.
  double unpack = format.isFloat()         ? (format.bits == 32 ? 0 : 32)
                  : format.isScaledFloat() ? 160
                                           : 96;
  double loads = format.isFloat() ? 32 : format.bits;
  return {32, 0, unpack, loads, 32};
}

/// Returns whether f32 sums may be spilled to the stack. On AVX2 a group has about 25 instructions per sum, and
/// larger tiles let more tokens share the unpacking. If unpacking is expensive (Q3_K, Q6_K, tables), prompts
/// are 1.1 to 1.3 times as fast; other formats show no measurable gain.
bool mayLeaveSums(kernel::MatmulOp op, const Isa &isa) {
  return isa.dot == DotKind::Pmaddubsw && op.xType().getKind() == RowKind::Q8 &&
         llvm::any_of(llvm::seq(op.getWeights().size()),
                      [&](size_t i) { return countsOfDots(formatOf(op, i), isa).unpack > 18; });
}

bool multipliesBf16WithAmx(kernel::MatmulOp op, const Isa &isa) {
  return isa.amx && arithmeticOf(op, isa) == Arithmetic::Bf16;
}

/// Returns the size in bytes of a row of x in the encoding that is multiplied.
int64_t xRowBytes(kernel::MatmulOp op, const Isa &isa) {
  return multipliesBf16WithAmx(op, isa) ? bf16RowBytes(isa, op.xType().getN())
                                        : op.xType().rowBytes();
}

/// Returns the cycles of all panels of one weight for a block of `tokens` tokens.
double cyclesOfBlock(kernel::MatmulOp op, size_t weight, kernel::ScheduleAttr schedule,
                     const Isa &isa, const Machine &machine, int64_t tokens) {
  auto type = cast<lm::WeightType>(op.getWeights()[weight].getType());
  PanelLayout layout = kernel::panelLayoutOf(type);
  GroupCounts counts = countsOf(op, formatOf(op, weight), isa);
  double groups = double(roundUp(type.columns(), kGroupK)) / kGroupK;
  double registers = double(kPanelRows) / isa.lanes, cycles = 0;
  double panelFromL2 = layout.panelBytes() > machine.l1Bytes * 3 / 4 ? layout.panelBytes() : 0;
  if (multipliesInTiles(op, layout, isa)) {
    const double tiles = std::ceil(double(tokens) / kAmxTokens);
    const double core = groups * registers * tiles * kAmxCycles;
    const double l2 = (std::ceil(tiles / 2) * panelFromL2 + double(tokens * xRowBytes(op, isa))) /
                      machine.l2BytesPerCycle;
    cycles = overlap(core, l2);
    for (int64_t tile : schedule.getTokenTiles()) {
      cycles += double(tokens / tile) * (kEpilogue + registers * double(tile) * 4);
      tokens %= tile;
    }
    return cycles * double(layout.panels);
  }
  for (int64_t tile : schedule.getTokenTiles()) {
    double tiles = double(tokens / tile), t = double(tile);
    tokens %= tile;
    double passes = registers / tileVectors(isa, tile);
    double multiply = registers * t * counts.multiply;
    double vector = multiply + registers * (t * counts.others + counts.unpack);
    double loads = t * passes * counts.broadcasts + registers * counts.loads;
    if (mayLeaveSums(op, isa) && 2 * t + 7 > isa.registers) // spilled and reloaded in each group
      loads += 2 * registers * t;
    double core = groups * std::max({multiply / machine.multiplyPipes + machine.groupLatency,
                                     vector / machine.vectorPipes, loads / machine.loadsPerCycle,
                                     (vector + loads) / machine.issuedPerCycle}) +
                  kEpilogue + registers * t * 4;
    double l2 = (panelFromL2 + t * op.xType().rowBytes()) / machine.l2BytesPerCycle;
    cycles += tiles * overlap(core, l2);
  }
  return cycles * layout.panels;
}

double reachedRate(int64_t prefetch, const Machine &machine) {
  return machine.readGbPerS * (prefetch ? 1 : machine.prefetchless);
}

/// Returns whether a weight multiplies its two half-group sums by their scales, as Q6_K does.
bool needsProducts(kernel::MatmulOp op) {
  return isQuantised(op.xType().getKind()) &&
         llvm::any_of(llvm::seq(op.getWeights().size()),
                      [&](size_t i) { return formatOf(op, i).group == 16; });
}

/// Returns whether weights are de-quantised in f32. That unrolls to long code, so it gets few tile sizes, which
/// halves the compile time.
bool dequantises(kernel::MatmulOp op) {
  return !isQuantised(op.xType().getKind()) &&
         llvm::any_of(llvm::seq(op.getWeights().size()),
                      [&](size_t i) { return formatOf(op, i).hasIntegerCodes(); });
}

} // namespace

Arithmetic ingot::codegen::cpu::arithmeticOf(kernel::MatmulOp op, const Isa &isa) {
  if (isQuantised(op.xType().getKind()))
    return Arithmetic::Int8;
  bool bf16 = llvm::any_of(op.getWeights().getTypes(), [](Type type) {
    return cast<lm::WeightType>(type).getFormat() == WeightFormat::BF16;
  });
  return op.getFastFloat() && isa.bf16Dot && bf16 ? Arithmetic::Bf16 : Arithmetic::F32;
}

bool ingot::codegen::cpu::unpacksPanels(kernel::MatmulOp op, const PanelLayout &layout,
                                        const Isa &isa) {
  const NumericFormat &format = numericFormat(layout.format);
  return op.xType().getKind() == RowKind::Q8 && format.hasIntegerCodes() && format.bits < 8 &&
         double(UnpackedLayout(layout, isa).panelBytes()) <=
             (1 - kL2Share) * double(isa.machine->l2Bytes);
}

bool ingot::codegen::cpu::multipliesInTiles(kernel::MatmulOp op, const PanelLayout &layout,
                                            const Isa &isa) {
  return multipliesBf16WithAmx(op, isa) && layout.format == WeightFormat::BF16 &&
         layout.k % kAmxK == 0;
}

int64_t ingot::codegen::cpu::tileRegisters(kernel::MatmulOp op, const Isa &isa, int64_t tokens) {
  int64_t vectors = tileVectors(isa, tokens), sums = vectors * tokens;
  if (!isQuantised(op.xType().getKind()))
    return sums + vectors + 2; // and a broadcast and a temporary of unpacking
  // Registers hold the f32 sums and the dot products of a group, for Q6_K also the dot products of the first half. The
  // codes need registers too, and so do the nibble mask, a broadcast and a scale. A dot product that takes more than
  // one instruction also needs registers for a vector of ones, a product and a partial sum. The counts are calibrated
  // with the spills that `matmul-bench --spills` counts.
  int64_t kinds = needsProducts(op) ? 3 : 2;
  if (mayLeaveSums(op, isa))
    kinds = 1;
  return sums * kinds + vectors + (isa.dot == DotKind::Pmaddubsw ? 6 : 3);
}

SmallVector<kernel::ScheduleAttr> ingot::codegen::cpu::scheduleCandidates(kernel::MatmulOp op,
                                                                          const Isa &isa) {
  SmallVector<kernel::ScheduleAttr> candidates;
  int64_t longest = dequantises(op) ? isa.registers / 8 : 8;
  for (int64_t front = 1; front <= longest; ++front) {
    if (front > 1 && tileRegisters(op, isa, front) > isa.registers)
      continue; // tiles of one token must always exist
    SmallVector<int64_t> tiles{front};
    for (int64_t next : {4, 2, 1})
      if (next < front && !(next > 1 && dequantises(op)))
        tiles.push_back(next);
    // Blocks that exceed L2 were measured to be slower: by 4 % at twice the size, 7 % at four times.
    int64_t fits = int64_t(kL2Share * isa.machine->l2Bytes) / xRowBytes(op, isa);
    const std::array<int64_t, 4> wholeTiles{128, 64, 32, 16}, blocks{120, 60, 30, 12};
    for (int64_t most : isa.amx ? wholeTiles : blocks) {
      int64_t block = std::max(std::min(most, fits) / front * front, front);
      for (int64_t prefetch : {kPrefetchBytes, int64_t(0)})
        candidates.push_back(kernel::ScheduleAttr::get(op.getContext(), tiles, block, prefetch));
    }
  }
  return candidates;
}

/// Returns the cost if all rows are multiplied by all matrices.
static MatmulCost costOfAll(kernel::MatmulOp op, kernel::ScheduleAttr schedule, const Isa &isa,
                            const Machine &machine, int64_t tokens) {
  MatmulCost cost;
  const int64_t block = std::min(schedule.getTokenBlock(), tokens);
  const int64_t blocks = (tokens + block - 1) / block, last = tokens - (blocks - 1) * block;
  const double kept = kL2Share * double(machine.l2Bytes);
  const double x = double(block) * double(xRowBytes(op, isa));
  double cycles = 0, weights = 0, panels = 0;
  for (size_t i = 0; i < op.getWeights().size(); ++i) {
    auto type = cast<lm::WeightType>(op.getWeights()[i].getType());
    weights += double(kernel::panelLayoutOf(type).bytes());
    panels += double(kernel::panelLayoutOf(type).panels);
    cycles += cyclesOfBlock(op, i, schedule, isa, machine, last);
    if (blocks > 1)
      cycles += double(blocks - 1) * cyclesOfBlock(op, i, schedule, isa, machine, block);
  }
  cost.coreSeconds = cycles / machine.gigahertz / 1e9;
  cost.memoryBytes = double(blocks) * (weights + std::max(0.0, x - kept) * panels);
  double memory = cost.memoryBytes / reachedRate(schedule.getPrefetch(), machine) / 1e9;
  cost.seconds = overlap(cost.coreSeconds, memory);

  const bool tiles = multipliesBf16WithAmx(op, isa);
  double perInstruction = arithmeticOf(op, isa) == Arithmetic::Int8   ? 8 * isa.lanes
                          : arithmeticOf(op, isa) == Arithmetic::Bf16 ? 4 * isa.lanes
                                                                      : 2 * isa.lanes;
  double perCycle =
      tiles ? 2 * kAmxTokens * kAmxK * 16 / kAmxCycles : perInstruction * machine.multiplyPipes;
  double rate = perCycle * machine.gigahertz * 1e9;
  cost.boundSeconds = std::max(double(op.operationsPerUnit() / op.rowsOfToken() * op.experts()) *
                                   double(tokens) / rate,
                               weights / machine.readGbPerS / 1e9);
  return cost;
}

MatmulCost ingot::codegen::cpu::matmulCost(kernel::MatmulOp op, kernel::ScheduleAttr schedule,
                                           const Isa &isa, const Machine &machine, int64_t tokens) {
  if (!op.getRoutes())
    return costOfAll(op, schedule, isa, machine, tokens);
  // Only a fraction of the experts have rows, each an equal number of them.
  const double share =
      shareOfExperts(double(op.experts()), double(op.rowsOfToken()), double(tokens));
  const double rows = double(tokens * op.rowsOfToken()) / (share * double(op.experts()));
  MatmulCost cost = costOfAll(op, schedule, isa, machine, std::max<int64_t>(1, std::llround(rows)));
  for (double *part : {&cost.seconds, &cost.coreSeconds, &cost.memoryBytes, &cost.boundSeconds})
    *part *= share;
  return cost;
}

double ingot::codegen::cpu::matmulSlowness(kernel::MatmulOp op, kernel::ScheduleAttr schedule,
                                           const Isa &isa, const Machine &machine) {
  double sum = 0;
  for (int64_t tokens : kModelTokens) {
    MatmulCost cost = matmulCost(op, schedule, isa, machine, tokens);
    sum += cost.seconds / cost.boundSeconds;
  }
  return sum / double(std::size(kModelTokens));
}
