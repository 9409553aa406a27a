//===- CheckCode.cpp - See CheckCode.h ------------------------------------===//
#include "compiler/targets/cpu/CheckCode.h"
#include "codegen/cpu/CpuCodegen.h"
#include "compiler/reference/machine/CheckPlan.h"
#include "compiler/reference/machine/PanelWeights.h"
#include "compiler/reference/machine/RowForms.h"
#include "compiler/targets/cpu/LoadedCode.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/Custom.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "runtime/abi/Batch.h"
#include "runtime/abi/Routes.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using namespace ingot::reference;
using namespace ingot::reference::machine;
using kernel::RowKind;
using kernel::RowsType;

namespace {

/// How far a compiled op may be from the machine's, against the largest number of the row; 0: to the bit.
struct Bound {
  const char *op;
  double allowed;
};
constexpr Bound kBounds[] = {
    {"gather", 0},         // one product
    {"rope_table", 2e-7},  // the last bit of cos and sin
    {"rope_append", 0},    // two products and a sum
    {"rowwise", 1e-6},     // the order of a mean
    {"matmul", 2e-6},      // the order of sums; exp
    {"attention", 4e-6},   // online softmax, exp of scores that may be large
    {"causal_conv", 1e-6}, // the order of a sum
    {"route", 1e-6},       // exp; the choice is the same
    {"group_routes", 0},   // integers
    {"custom", 0},         // what its author says
    {"combine", 0},        // fused multiplications in one order
};
/// A value of a q8 row may be a code off, since its code may round the other way: but few are. Codes of a second plane are
/// so fine that many may.
constexpr double kCode = 1.01 / 127, kMostCodesOff = 0.005;
/// Over caches of int8 queries and weights of positions are int8 too (docs/numerics.md), which the machine does not do. How
/// far that goes depends on how sharp the scores are: beyond models whose scores are known it is not judged.
constexpr double kInt8Attention = 0.01, kNotJudged = 2;
/// Where heads are normed before they enter a cache of less than f32, the order of a mean decides how some are rounded.
/// In any cache it moves scores, which are large where heads are normed.
constexpr double kNormedHeads = 1e-6, kRoundedKeys = 2e-3, kNormedScores = 2e-5;
/// Rows that vdpbf16ps rounds for itself: 2^-9 of each value, more of a product of two projections.
constexpr double kBf16 = 0x1p-6;

constexpr int64_t kSequences = 3, kPages = 2; ///< of each sequence

/// Two tiles and two pages of a prompt beside a short one; then decoding, beside a prompt that begins.
std::vector<Step> stepsFor(int64_t vocabulary) {
  auto id = [&](int64_t i) { return int32_t((i * 7919 + 13) % vocabulary); };
  Step first, second;
  for (int64_t t = 0; t < 35; ++t)
    first.ids.push_back(id(t)), first.sequences.push_back(0), first.positions.push_back(t);
  for (int64_t t = 0; t < 3; ++t)
    first.ids.push_back(id(40 + t)), first.sequences.push_back(2), first.positions.push_back(t);
  first.logitsRows = {34, 37};
  second.ids = {id(50), id(51), id(52)};
  second.sequences = {0, 1, 2};
  second.positions = {35, 0, 3};
  second.logitsRows = {0, 1, 2};
  return {first, second};
}

/// Zeroed memory on a line of its own, as executors lend it.
class Bytes {
public:
  explicit Bytes(int64_t size)
      : size(size),
        memory(static_cast<std::byte *>(std::aligned_alloc(64, size_t(roundUp(size + 64, 64))))) {
    std::memset(memory.get(), 0, size_t(size + 64));
  }
  std::byte *data() const { return memory.get(); }
  const int64_t size;

private:
  struct Free {
    void operator()(std::byte *p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory;
};

/// The arrays that a BatchView points to, for a step of sequences that lie in pages of their own.
class StepBatch {
public:
  StepBatch(const Batch &batch, const std::vector<int32_t> &ids);
  const BatchView &view() const { return batch; }

private:
  std::vector<int32_t> positions, table;
  std::vector<AttentionTile> tiles;
  std::vector<StateSpan> spans;
  std::vector<StateWrite> writes;
  BatchView batch{};
};

class Lockstep : public LaunchObserver {
public:
  Lockstep(ModuleOp module, const CodeOfLevel &level, PanelWeights &weights, LoadedCode code,
           double slack)
      : module(module), weights(weights), code(std::move(code)), isa(level.isa), slack(slack) {
    for (kernel::FuncOp fn : level.kernels)
      scratch[fn.getSymName()] = cpu::scratchBytes(fn);
    module.walk([&](kernel::RopeAppendOp op) { normsHeads |= op.getQNorm() || op.getKNorm(); });
  }

  void before(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
              Memory &memory) override;
  void behind(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
              Memory &memory) override;

  const std::vector<int32_t> *ids = nullptr; ///< of the step under way
  CodeAgreement agreement;
  std::optional<Error> wrong; ///< the first that was found

private:
  /// Where the compiled kernel finds an operand; null where there is no memory.
  void *address(Attribute passed, plan::StepOp step, Memory &memory);
  double allowedOf(kernel::FuncOp fn, double ofOp);
  void compare(kernel::FuncOp fn, plan::LaunchOp launch, plan::StepOp step, const Batch &batch,
               Memory &memory);
  /// The weights that a launch leaves in a buffer of routes may be off; the rest is the same. Infinity: it is not.
  double compareRoutes(StringRef op, RoutesLayout layout, Memory &memory, int64_t buffer);
  /// Tells `report` the first number that is too far off.
  void compareRows(RowsType type, int64_t count, const std::byte *expected, const std::byte *found,
                   double allowed, const std::string &op,
                   llvm::function_ref<void(const std::string &)> report);
  void find(plan::LaunchOp launch, plan::StepOp step, const std::string &why);

  ModuleOp module;
  PanelWeights &weights;
  const LoadedCode code;
  const cpu::Isa &isa;
  const double slack; ///< times the bounds
  bool normsHeads = false;
  llvm::StringMap<int64_t> scratch;                        ///< by kernel
  llvm::DenseMap<Attribute, std::unique_ptr<Bytes>> pools; ///< by state
  std::map<int64_t, std::unique_ptr<Bytes>> copies;        ///< of the launch under way, by buffer
};

} // namespace

double CodeAgreement::largestOfAll() const {
  double most = 0;
  for (const auto &[op, off] : largest)
    most = std::max(most, off);
  return most;
}

StepBatch::StepBatch(const Batch &from, const std::vector<int32_t> &ids)
    : positions(from.positions.begin(), from.positions.end()) {
  for (int32_t page = 0; page < kSequences * kPages; ++page)
    table.push_back(page);
  for (size_t t = 0; t < positions.size(); ++t) {
    const bool goesOn = t > 0 && from.sequences[t] == from.sequences[t - 1];
    if (goesOn && tiles.back().tokens < kAttentionTile)
      ++tiles.back().tokens;
    else
      tiles.push_back({int32_t(t), 1, from.sequences[t], positions[t]});
    if (goesOn)
      ++spans.back().tokens, writes.back().token = int32_t(t);
    else { // the version of a sequence is replaced where it lies
      writes.push_back({int32_t(t), from.sequences[t]});
      spans.push_back(
          {int32_t(t), 1, positions[t] ? from.sequences[t] : -1, int32_t(writes.size()) - 1, 1, 0});
    }
  }
  batch.tokens = int64_t(positions.size()), batch.sequences = kSequences;
  batch.rows = int64_t(from.logitsRows.size()), batch.tiles = int64_t(tiles.size());
  batch.ids = ids.data(), batch.positions = positions.data();
  batch.sequenceOf = from.sequences.data(), batch.rowTokens = from.logitsRows.data();
  batch.attentionTiles = tiles.data();
  batch.blockTable = table.data(), batch.blockTableStride = kPages;
  batch.stateSpans = spans.data(), batch.spanCount = int64_t(spans.size());
  batch.stateWrites = writes.data();
}

/// How many work items a launch of the kernel has.
static int64_t itemsOf(kernel::FuncOp fn, const BatchView &batch) {
  int64_t counts[kernel::WorkItems::Spans + 1] = {1, batch.tokens, batch.rows, batch.tiles};
  const kernel::WorkItems items = fn.launch().workItems();
  counts[kernel::WorkItems::Spans] = batch.spanCount;
  return counts[items.base] * items.factor;
}

void Lockstep::before(plan::LaunchOp launch, plan::StepOp, const Batch &, plan::Mode,
                      Memory &memory) {
  copies.clear();
  for (Attribute passed : launch.getArgs())
    if (auto ref = dyn_cast<plan::BufferRefAttr>(passed)) {
      const int64_t buffer = memory.find(ref.getSymbol().getValue());
      auto &copy = copies[buffer];
      if (copy)
        continue;
      copy = std::make_unique<Bytes>(memory.buffer(buffer).bytes);
      std::memcpy(copy->data(), memory.peek(buffer, 0), size_t(copy->size));
    }
}

void *Lockstep::address(Attribute passed, plan::StepOp step, Memory &memory) {
  plan::ProgramOp program = *module.getOps<plan::ProgramOp>().begin();
  if (auto ref = dyn_cast<plan::BufferRefAttr>(passed))
    return copies[memory.find(ref.getSymbol().getValue())]->data();
  if (auto ref = dyn_cast<plan::StateRefAttr>(passed)) {
    auto symbol = cast<FlatSymbolRefAttr>((*step.getStates())[ref.getIndex()]).getAttr();
    auto &pool = pools[symbol];
    if (!pool) {
      auto state = cast<plan::StateOp>(SymbolTable::lookupSymbolIn(program, symbol));
      pool = std::make_unique<Bytes>(int64_t(state.getBytes()) * kSequences * kPages);
    }
    return pool->data();
  }
  auto layer = dyn_cast<plan::LayerWeightRefAttr>(passed);
  auto symbol = layer ? cast<FlatSymbolRefAttr>((*step.getWeights())[layer.getIndex()])
                      : cast<plan::WeightRefAttr>(passed).getSymbol();
  auto weight = cast<plan::WeightOp>(SymbolTable::lookupSymbolIn(program, symbol.getAttr()));
  return const_cast<void *>(weights.packed(weight.getSymName(), weight.getType(),
                                           weight.getValues().value_or(ArrayRef<float>())));
}

void Lockstep::find(plan::LaunchOp launch, plan::StepOp step, const std::string &why) {
  if (wrong)
    return;
  std::string where = "@" + launch.getKernel().str();
  if (step.getLayer())
    where += " in layer " + std::to_string(*step.getLayer());
  auto fn = module.lookupSymbol<kernel::FuncOp>(launch.getKernel());
  if (auto custom = dyn_cast<kernel::CustomOp>(fn.anchor())) {
    wrong =
        Error{ExitCode::File, "E0886",
              "the kernel of " + custom.getOrigin().str() + " for cpu:" + std::string(isa.name) +
                  " computes something else than the op means",
              where + ": " + why,
              "correct its body or its meaning, or allow more (RowOpInterface::largestError)"};
    return;
  }
  wrong = Error{
      ExitCode::Internal, "E0886",
      "the code of " + where + " for cpu:" + std::string(isa.name) +
          " computes something else than its plan",
      why,
      "this is a bug of ingot: please report it with the text of ingot compile … --emit asm --kernel " +
          launch.getKernel().str() + "; another --target may do without it"};
}

void Lockstep::behind(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode,
                      Memory &memory) {
  if (wrong)
    return;
  auto fn = module.lookupSymbol<kernel::FuncOp>(launch.getKernel());
  std::vector<void *> args;
  for (Attribute passed : launch.getArgs()) {
    args.push_back(address(passed, step, memory));
    if (!args.back())
      return find(launch, step, "there is no memory for its operands");
  }
  const cpu::KernelFn kernel = code.function(fn.getSymName().str());
  if (!kernel)
    return find(launch, step, "it is not in the code object");
  const StepBatch view(batch, *ids);
  const Bytes room(scratch.lookup(fn.getSymName()));
  kernel(args.data(), &view.view(), 0, itemsOf(fn, view.view()), 1,
         reinterpret_cast<char *>(room.data()));
  ++agreement.launches;
  compare(fn, launch, step, batch, memory);
}

double Lockstep::compareRoutes(StringRef op, RoutesLayout layout, Memory &memory, int64_t buffer) {
  const std::byte *expected = memory.peek(buffer, 0), *found = copies[buffer]->data();
  auto differs = [&](int64_t at, int64_t words) {
    return std::memcmp(expected + at, found + at, size_t(4 * words)) != 0;
  };
  if (op == "group_routes") {
    int32_t segments;
    std::memcpy(&segments, expected + layout.count(), 4);
    return differs(layout.row(), 2 * layout.pairs) || differs(layout.count(), 1) ||
                   differs(layout.segments(), 3 * segments)
               ? INFINITY
               : 0;
  }
  if (differs(layout.expert(), layout.pairs))
    return INFINITY;
  double off = 0;
  for (int64_t at = layout.weight(); at < layout.row(); at += 4) {
    float a, b;
    std::memcpy(&a, expected + at, 4), std::memcpy(&b, found + at, 4);
    off = std::max(off, std::abs(double(a) - double(b)));
  }
  return off;
}

/// What the launch may be off, beside what its rows' form rounds. The order of a sum matters more in a long one.
double Lockstep::allowedOf(kernel::FuncOp fn, double ofOp) {
  if (auto attention = dyn_cast<kernel::AttentionOp>(fn.anchor())) {
    const KvFormat format = attention.getKv().getType().getFormat();
    const double ofHeads = format == KvFormat::F32 ? kNormedScores : kRoundedKeys;
    return ofOp +
           (format != KvFormat::Int8 ? 0
            : slack > 1              ? kNotJudged
                                     : kInt8Attention) +
           (normsHeads ? ofHeads : 0);
  }
  if (auto append = dyn_cast<kernel::RopeAppendOp>(fn.anchor()))
    return ofOp + (append.getQNorm() || append.getKNorm() ? kNormedHeads : 0);
  if (auto custom = dyn_cast<kernel::CustomOp>(fn.anchor()))
    return custom.getError().convertToDouble();
  auto matmul = dyn_cast<kernel::MatmulOp>(fn.anchor());
  if (!matmul)
    return ofOp;
  const bool rounds =
      isa.bf16Dot && matmul.getFastFloat() && matmul.xType().getKind() == RowKind::F32;
  return ofOp * std::max(1.0, std::sqrt(double(matmul.xType().getN()) / 64)) + (rounds ? kBf16 : 0);
}

/// Numbers of all rows, one row behind the other.
static Matrix decodeRows(RowsType type, int64_t count, const std::byte *from) {
  Matrix rows(count, type.getN());
  for (int64_t row = 0; row < count; ++row)
    decodeRow(type, from + row * type.rowBytes(), rows.row(row));
  return rows;
}

static double largestOf(std::span<const float> values) {
  double most = 0;
  for (float value : values)
    most = std::max(most, double(std::abs(value)));
  return most;
}

void Lockstep::compareRows(RowsType type, int64_t count, const std::byte *expectedBytes,
                           const std::byte *foundBytes, double allowed, const std::string &op,
                           llvm::function_ref<void(const std::string &)> report) {
  const Matrix expected = decodeRows(type, count, expectedBytes),
               found = decodeRows(type, count, foundBytes);
  const double code = type.getKind() == RowKind::Q8     ? kCode
                      : type.getKind() == RowKind::Q8x2 ? kCode / 256
                                                        : 0;
  int64_t codesOff = 0;
  const double ofAll = largestOf(expected.values);
  for (int64_t row = 0; row < count; ++row) {
    // The few numbers of a narrow row may all be small by chance.
    const double size = type.getN() < kPanelRows ? ofAll : largestOf(expected.row(row));
    for (int64_t i = 0; i < expected.columns; ++i) {
      const float wanted = expected.row(row)[size_t(i)], seen = found.row(row)[size_t(i)];
      const double off = std::abs(double(seen) - double(wanted));
      codesOff += off > allowed * size;
      if (!(off <= (allowed + code) * size)) { // of what is no number, too
        std::string why;
        llvm::raw_string_ostream(why)
            << "value " << i << " of row " << row << " is " << seen << " for " << wanted
            << " (allowed: " << (allowed + code) * size << " off)";
        return report(why);
      }
      if (size > 0)
        agreement.largest[op] = std::max(agreement.largest[op], off / size);
      agreement.largestAbsolute = std::max(agreement.largestAbsolute, off);
    }
  }
  if (type.getKind() != RowKind::Q8)
    return;
  if (const auto values = int64_t(expected.values.size());
      double(codesOff) > 2 + (kMostCodesOff + 127 * allowed) * double(values))
    report(std::to_string(codesOff) + " of " + std::to_string(values) + " codes are others, in " +
           std::to_string(count) + " rows");
}

void Lockstep::compare(kernel::FuncOp fn, plan::LaunchOp launch, plan::StepOp step,
                       const Batch &batch, Memory &memory) {
  const std::string op = fn.anchor()->getName().stripDialect().str();
  const auto units = fn.launch().isPerRow() ? batch.logitsRows.size() : batch.positions.size();
  const auto *bound = std::ranges::find(kBounds, op, &Bound::op);
  assert(bound != std::end(kBounds) && "an op that the machine knows has a bound");
  const double allowed = slack * allowedOf(fn, bound->allowed);
  for (auto [argument, type, passed, effect] :
       llvm::enumerate(fn.getArgumentTypes(), launch.getArgs(), fn.operandEffects())) {
    auto rows = dyn_cast<RowsType>(type);
    auto routes = dyn_cast<kernel::RoutesType>(type);
    if (!effect.writes || !(routes || (rows && holdsNumbers(rows.getKind()))))
      continue;
    const StringRef name = cast<plan::BufferRefAttr>(passed).getSymbol().getValue();
    const int64_t buffer = memory.find(name);
    double &largest = agreement.largest[op];
    if (routes) {
      const double off =
          compareRoutes(op, RoutesLayout{int64_t(units) * routes.getUsed()}, memory, buffer);
      if (off > allowed)
        return find(launch, step,
                    "it chooses other experts, or weighs them otherwise, in @" + name.str());
      largest = std::max(largest, off);
      continue;
    }
    const auto count = int64_t(units) * fn.launch().rowsOfUnit(fn.getArgument(argument));
    compareRows(rows, count, memory.peek(buffer, 0), copies[buffer]->data(), allowed, op,
                [&](const std::string &why) { find(launch, step, why + " of @" + name.str()); });
  }
}

namespace {
/// The step of one more token for each sequence of a step of one token each.
Step behind(Step step) {
  for (int64_t &position : step.positions)
    ++position;
  return step;
}

/// One run of the machine is seen by all.
class AllLevels : public LaunchObserver {
public:
  void before(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
              Memory &memory) override {
    for (auto &level : levels)
      level->before(launch, step, batch, mode, memory);
  }
  void behind(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
              Memory &memory) override {
    for (auto &level : levels)
      level->behind(launch, step, batch, mode, memory);
  }
  std::vector<std::unique_ptr<Lockstep>> levels;
};
} // namespace

Result<std::vector<CodeAgreement>> compiler::checkCode(ModuleOp plan, ArrayRef<CodeOfLevel> levels,
                                                       double slack) {
  plan::ProgramOp program = *plan.getOps<plan::ProgramOp>().begin();
  PanelWeights weights;
  AllLevels all;
  for (const CodeOfLevel &level : levels) {
    auto code = LoadedCode::load(level.image);
    if (!code)
      return code.error();
    all.levels.push_back(std::make_unique<Lockstep>(plan, level, weights, std::move(*code), slack));
  }
  const std::vector<Step> steps = stepsFor(int64_t(program.getVocab()));
  MachineOptions options;
  options.tokens = int64_t(steps.front().ids.size());
  options.rows = kSequences;
  options.layers = firstLayers(program);
  options.observer = &all;
  auto machine = SlowMachine::create(plan, weights, std::move(options));
  if (!machine)
    return machine.error();
  // Modes differ in what becomes of the logits: one step of each other shows that, and goes on where the last one was.
  SmallVector<std::pair<plan::Mode, Step>> runs;
  for (const Step &step : steps)
    runs.emplace_back(plan::Mode::Logits, step);
  for (plan::Mode mode : program.generateEntry().getModes().getModes())
    if (mode != plan::Mode::Logits)
      runs.emplace_back(mode, behind(runs.back().second));
  for (const auto &[mode, step] : runs) {
    for (auto &level : all.levels)
      level->ids = &step.ids;
    auto done = (*machine)->step(step, mode);
    if (!done)
      return done.error();
    for (auto &level : all.levels)
      if (level->wrong)
        return *level->wrong;
  }
  std::vector<CodeAgreement> agreements;
  for (auto &level : all.levels)
    agreements.push_back(std::move(level->agreement));
  return agreements;
}
