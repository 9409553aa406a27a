//===- Matmul.cpp - kernel.matmul for CPUs: loops around the tile ---------===//
//
//   for block of tokens                       activations stay in the L2 cache
//     for segment, for panel of 32 rows       the panel is read from memory once per block
//       unpack the panel if many tiles use it the tiles then read it from scratch
//       or compute all its sums with AMX      the tiles then only run the epilogue
//       for tile of tokens (6, 4, 2, 1)       each tile reads the panel from the cache
//         for part of the panel               one part if a tile has all 32 rows
//           main loop over K                  twice for a gated pair: gate sums are kept in scratch
//           epilogue on registers
//
// For experts, this runs for the rows of one expert after another, with the panels of its matrix. An output head
// that writes only keys first takes one of two planes (MatmulCandidates.h). Work items are panels. With one token the
// kernel is a matrix-vector product that is limited by memory bandwidth. With many tokens it is a matrix product that
// is limited by the throughput of the dot instruction.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Matmul.h"
#include "codegen/cpu/Emitters.h"
#include "codegen/cpu/MatmulCandidates.h"
#include "codegen/cpu/MatmulKeys.h"
#include "codegen/cpu/MatmulTile.h"
#include "codegen/cpu/PanelGroup.h"
#include "codegen/cpu/Quantize.h"
#include "codegen/cpu/RoutesView.h"
#include "codegen/cpu/schedule/MatmulCost.h"
#include "codegen/cpu/schedule/MatmulSchedule.h"
#include "dialects/kernel/ops/Fused.h"
#include "dialects/kernel/ops/Ids.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <utility>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;
using kernel::ActivationType;
using kernel::RowKind;

static bool roundsRows(kernel::MatmulOp op, const Isa &isa) {
  return arithmeticOf(op, isa) == Arithmetic::Bf16;
}

/// Returns the size in bytes of rounded activations, the first part of a thread's scratch.
static int64_t roundedBytes(kernel::MatmulOp op, const Isa &isa) {
  const int64_t block = matmulSchedule(op, isa).getTokenBlock();
  return roundsRows(op, isa) ? roundUp(block, kAmxTokens) * bf16RowBytes(isa, op.xType().getN())
                             : 0;
}

bool ingot::codegen::cpu::usesAmx(kernel::MatmulOp op, const Isa &isa) {
  return llvm::any_of(op.getWeights().getTypes(), [&](Type type) {
    return multipliesInTiles(op, kernel::panelLayoutOf(cast<lm::WeightType>(type)), isa);
  });
}

/// Returns the size in bytes of one weight's sums of a panel for a block of tokens: f32 [tokens][32]. A gated pair has
/// two such arrays. The configuration of the tile registers follows the last array.
static int64_t amxSumBytes(kernel::MatmulOp op, const Isa &isa) {
  const int64_t block = matmulSchedule(op, isa).getTokenBlock();
  return usesAmx(op, isa) ? roundUp(block, kAmxTokens) * kPanelRows * 4 : 0;
}
static int64_t amxBytes(kernel::MatmulOp op, const Isa &isa) {
  return usesAmx(op, isa) ? amxSumBytes(op, isa) * (op.getGated() ? 2 : 1) + 64 : 0;
}

/// Returns whether a tile holds all 32 rows of a panel.
static bool coversPanel(const Isa &isa, int64_t tokens) {
  return tileVectors(isa, tokens) * isa.lanes == kPanelRows;
}

/// Returns the size in bytes of output rows that are staged until they are quantised: f32 [tokens][32].
static int64_t stagedBytes(kernel::MatmulOp op, const Isa &isa) {
  bool quantised = llvm::any_of(op.getOutputs().getTypes(), [](Type type) {
    return cast<ActivationType>(type).getKind() == RowKind::Q8;
  });
  int64_t most = 0;
  for (int64_t tokens : matmulSchedule(op, isa).getTokenTiles())
    if (quantised && !coversPanel(isa, tokens))
      most = std::max(most, tokens);
  return most * kPanelRows * 4;
}

/// Returns the size in bytes of the sums of the first weight of a gated pair, a register each: at most f32
/// [tokens][32].
static int64_t gateBytes(kernel::MatmulOp op, const Isa &isa) {
  return op.getGated() ? matmulSchedule(op, isa).getTokenTiles().front() * kPanelRows * 4 : 0;
}

/// Returns the size in bytes of unpacked panels: enough for the largest in any segment, twice for a gated pair.
static int64_t unpackedBytes(kernel::MatmulOp op, const Isa &isa) {
  int64_t most = 0;
  for (Type type : op.getWeights().getTypes()) {
    const PanelLayout layout = kernel::panelLayoutOf(cast<lm::WeightType>(type));
    if (unpacksPanels(op, layout, isa))
      most = std::max(most, UnpackedLayout(layout, isa).panelBytes());
  }
  return most * (op.getGated() ? 2 : 1);
}

int64_t ingot::codegen::cpu::matmulScratchBytes(kernel::MatmulOp op) {
  auto at = [&](const Isa &isa) {
    return roundedBytes(op, isa) + amxBytes(op, isa) + stagedBytes(op, isa) + gateBytes(op, isa) +
           unpackedBytes(op, isa) + MatmulKeys::scratchBytes(op) +
           CandidateFilter::scratchBytes(op);
  };
  int64_t most = 0;
  for (const Isa *isa : allIsas())
    most = std::max(most, at(*isa));
  return most;
}

namespace {

/// One output with its weights, aux operands and epilogue.
struct Segment {
  PanelLayout layout;
  SmallVector<Value, 2> weights;           ///< base addresses
  SmallVector<std::pair<Value, bool>> aux; ///< base addresses; whether the operand is rows
  Value y;                                 ///< address of the output; null: not stored
  ActivationType type;                     ///< type of y, also if y is null
  Region *epilogue;
  Value firstItem, endItem; ///< this call's items of the segment
  int64_t firstPanel;
};

class MatmulEmitter {
public:
  MatmulEmitter(KernelBuilder &k, kernel::MatmulOp op)
      : k(k), op(op), schedule(matmulSchedule(op, k.isa)), gated(op.getGated()), xType(op.xType()) {
  }

  LogicalResult emit() {
    for (Value fusedValue : op.getFused()) {
      argmax = kernel::consumerOf<kernel::ArgmaxOp>(fusedValue);
      largest = kernel::consumerOf<kernel::PanelMaximaOp>(fusedValue);
    }
    if (failed(collectSegments()))
      return failure();
    Value total = k.extent(op.getExtent()), x = k.operand(op.getX());
    Value rounded = roundsRows(op, k.isa) ? k.scratch : Value();
    amxSums = k.at(k.scratch, roundedBytes(op, k.isa));
    staged = k.at(amxSums, amxBytes(op, k.isa));
    gateSums = k.at(staged, stagedBytes(op, k.isa));
    unpacked = k.at(gateSums, gateBytes(op, k.isa));
    Value behind = k.at(unpacked, unpackedBytes(op, k.isa));
    if (argmax)
      keys.emplace(k, k.operand(argmax.getKeys()), behind, segments.front().type.getN());
    if (keys)
      keys->start(total);
    if (CandidateFilter::applies(op)) {
      filter.emplace(k, segments.front().layout, k.at(behind, MatmulKeys::scratchBytes(op)));
      filter->start(x, total);
    }
    if (largest)
      maxima.emplace(k, k.operand(largest.getOutput()), segments.front().type.getN());
    LogicalResult result =
        op.getRoutes() ? emitExperts(x, rounded) : emitBlocks(k.word(0), total, x, rounded);
    if (usesAmx(op, k.isa))
      emitTileRelease(k);
    if (keys)
      keys->finish(total);
    return result;
  }

private:
  using NoValues = KernelBuilder::Values;

  /// Multiplies rows [from, to) of x by the panels of this call.
  LogicalResult emitBlocks(Value from, Value to, Value x, Value rounded) {
    LogicalResult result = success();
    k.loop(from, to, k.word(schedule.getTokenBlock()), [&](Value first) {
      Value end = k.minSigned(k.add(first, schedule.getTokenBlock()), to);
      if (rounded)
        emitRoundRows(k, k.at(x, k.mul(first, xType.rowBytes())), rounded, k.sub(end, first),
                      xType.getN());
      if (usesAmx(op, k.isa))
        emitTileConfig(k, k.sub(end, first), k.at(amxSums, amxBytes(op, k.isa) - 64));
      for (Segment &segment : segments)
        k.loop(segment.firstItem, segment.endItem, k.step, [&](Value item) {
          Value panel = k.sub(item, segment.firstPanel);
          if (failed(emitPanel(segment, panel, first, end, x, rounded)))
            result = failure();
        });
    });
    return result;
  }

  /// The call's range refers to the panels of all experts, but often only some experts have rows. The range is
  /// scaled to the panels of those experts, so that they are spread evenly over threads.
  LogicalResult emitExperts(Value x, Value rounded) {
    LogicalResult result = success();
    Segment &segment = segments.front();
    const int64_t panels = segment.layout.panelsOfMatrix();
    RoutesView view(k, k.operand(op.getRoutes()), op.rowsOfToken());
    Value count = RoutesView::wordAt(k, view.count, k.word(0));
    auto ofThose = [&](Value item) {
      return k.divUnsigned(k.mul(item, k.mul(count, panels)), panels * op.experts());
    };
    Value begin = ofThose(k.begin), end = ofThose(k.end);
    Value last = k.divUnsigned(k.add(end, panels - 1), panels);
    k.loop(k.divUnsigned(begin, panels), last, k.word(1), [&](Value number) {
      Value entry = k.at(view.segments, k.mul(number, sizeof(RouteSegment)));
      auto field = [&](int64_t offset) {
        return k.widen(k.load(k.i32, k.at(entry, offset)), k.i64);
      };
      Value firstItem = k.mul(number, panels);
      segment.firstItem = k.maxSigned(k.sub(begin, firstItem), k.word(0));
      segment.endItem = k.minSigned(k.sub(end, firstItem), k.word(panels));
      firstOfMatrix = k.mul(field(offsetof(RouteSegment, expert)), panels);
      result = emitBlocks(field(offsetof(RouteSegment, first)), field(offsetof(RouteSegment, end)),
                          x, rounded);
    });
    return result;
  }
  /// Returns the index of an expert's panel among the panels of all experts.
  Value amongAll(Value panel) { return firstOfMatrix ? k.add(panel, firstOfMatrix) : panel; }

  LogicalResult collectSegments() {
    auto aux = op.getAux().begin();
    int64_t panels = 0;
    for (int64_t s = 0; s < op.segments(); ++s) {
      Segment segment;
      auto weights = op.getWeights().slice(s * (gated ? 2 : 1), gated ? 2 : 1);
      auto weight = cast<lm::WeightType>(weights.front().getType());
      if (xType.getKind() != RowKind::F32 && !weight.numeric().hasIntegerCodes())
        return op.emitOpError("cannot multiply quantised rows by ")
               << weight << " in segment " << s;
      segment.layout = kernel::panelLayoutOf(weight);
      for (Value w : weights)
        segment.weights.push_back(k.operand(w));
      for (int64_t i = 0; i < op.getAuxCounts()[s]; ++i, ++aux)
        segment.aux.emplace_back(k.operand(*aux), isa<ActivationType>((*aux).getType()));
      const bool fusedValues = !op.getFused().empty();
      segment.type = kernel::activationTypeOf(fusedValues ? op.getFused()[s] : op.getOutputs()[s]);
      if (!fusedValues)
        segment.y = k.operand(op.getOutputs()[s]);
      else if (auto store = kernel::consumerOf<kernel::StoreOp>(op.getFused()[s]))
        segment.y = k.operand(store.getOutput());
      segment.epilogue = &op.getEpilogues()[s];
      segment.firstPanel = panels;
      panels += segment.layout.panels;
      itemsOf(segment, panels);
      segments.push_back(std::move(segment));
    }
    return success();
  }

  /// Sets the items of this call that are panels of the segment: begin + i * step, starting at its
  /// first panel.
  void itemsOf(Segment &segment, int64_t endPanel) {
    segment.firstItem = k.begin;
    if (segment.firstPanel) {
      Value missing = k.maxSigned(k.sub(k.word(segment.firstPanel), k.begin), k.word(0));
      Value steps = arith::DivUIOp::create(k.b, k.sub(k.add(missing, k.step), 1), k.step);
      segment.firstItem = k.add(k.begin, k.mul(steps, k.step));
    }
    segment.endItem = op.segments() == 1 ? k.end : k.minSigned(k.end, k.word(endPanel));
  }

  LogicalResult emitPanel(const Segment &segment, Value panel, Value first, Value end, Value x,
                          Value rounded) {
    LogicalResult result = success();
    Value token = first;
    blockStart = first;
    bool mayUnpack = unpacksPanels(op, segment.layout, k.isa);
    if (multipliesInTiles(op, segment.layout, k.isa))
      for (size_t i = 0; i < segment.weights.size(); ++i) {
        Tile tile = tileOf(segment, kAmxTokens, first, first, x, rounded);
        tile.vectors = {{panelAt(segment, i, panel), 0, Value()}};
        emitAmxSums(k, tile, segment.layout, k.sub(end, first), amxSumsAt(i));
      }
    for (int64_t tokens : schedule.getTokenTiles()) {
      Value tiles = k.divUnsigned(k.sub(end, token), tokens);
      Value stop = tokens == 1 ? end : k.add(token, k.mul(tiles, tokens));
      auto emitTiles = [&](Value to, bool unpacks) {
        k.loop(token, to, k.word(tokens), [&](Value at) {
          if (failed(emitParts(segment, tileOf(segment, tokens, first, at, x, rounded), panel, at,
                               unpacks)))
            result = failure();
        });
        token = to;
      };
      if (std::exchange(mayUnpack, false)) {
        Value pays = k.less(k.word(kTilesToUnpackFor - 1), tiles);
        k.when(pays, [&] {
          for (size_t i = 0; i < segment.weights.size(); ++i)
            emitUnpackedPanel(k, segment.layout, panelAt(segment, i, panel),
                              unpackedAt(segment, i));
        });
        emitTiles(k.select(pays, stop, token), true);
      }
      emitTiles(stop, false);
    }
    return result;
  }

  Tile tileOf(const Segment &segment, int64_t tokens, Value first, Value at, Value x,
              Value rounded) {
    Tile tile;
    tile.tokens = static_cast<int>(tokens);
    tile.prefetch = schedule.getPrefetch();
    tile.planes = xType.getKind() == RowKind::Q8x2 ? 2 : 1;
    tile.bf16Dot = rounded && segment.layout.format == WeightFormat::BF16;
    tile.xRowBytes = tile.bf16Dot ? bf16RowBytes(k.isa, xType.getN()) : xType.rowBytes();
    tile.x = tile.bf16Dot ? k.at(rounded, k.mul(k.sub(at, first), tile.xRowBytes))
                          : k.at(x, k.mul(at, tile.xRowBytes));
    return tile;
  }

  /// Returns the address of a panel of weight i of the segment, and of the unpacked panel.
  Value panelAt(const Segment &segment, size_t i, Value panel) {
    return k.at(segment.weights[i], k.mul(amongAll(panel), segment.layout.panelBytes()));
  }
  Value unpackedAt(const Segment &segment, size_t i) {
    return k.at(unpacked, int64_t(i) * UnpackedLayout(segment.layout, k.isa).panelBytes());
  }
  /// Returns the address of the sums of weight i.
  Value amxSumsAt(size_t i) { return k.at(amxSums, int64_t(i) * amxSumBytes(op, k.isa)); }

  /// Runs the tile over all 32 rows of the panel.
  LogicalResult emitParts(const Segment &segment, Tile tile, Value panel, Value first,
                          bool unpacks) {
    LogicalResult result = success();
    auto emitPart = [&](Value part) {
      if (failed(emitTile(segment, tile, part, panel, first, unpacks)))
        result = failure();
    };
    if (coversPanel(k.isa, tile.tokens)) {
      emitPart(Value());
      return result;
    }
    k.loop(0, kPanelRows, tileVectors(k.isa, tile.tokens) * k.lanes, emitPart);
    if (segment.type.getKind() == RowKind::Q8)
      quantizeStaged(segment, tile.tokens, panel, first);
    return result;
  }

  LogicalResult emitTile(const Segment &segment, Tile &tile, Value part, Value panel, Value first,
                         bool unpacks) {
    auto takeRows = [&](size_t weight) {
      Value base = panelAt(segment, weight, panel);
      tile.unpacked = unpacks ? unpackedAt(segment, weight) : Value();
      if (multipliesInTiles(op, segment.layout, k.isa))
        tile.amxSums = k.at(amxSumsAt(weight), k.mul(k.sub(first, blockStart), kPanelRows * 4));
      takeShareOfNext(segment, tile, base, first, part);
      tile.vectors.clear();
      for (int v = 0; v < tileVectors(k.isa, tile.tokens); ++v)
        tile.vectors.push_back({base, v * k.lanes, part});
    };
    takeRows(0);
    // One exposed cache miss per tile would cost 10 %, so residual rows are prefetched before the loop.
    for (auto [base, isRows] : segment.aux)
      for (int t = 0; isRows && t < tile.tokens; ++t)
        for (const TileRows &rows : tile.vectors)
          k.prefetch(outputAt(segment, base, rows, panel, first, t));

    auto finish = [&](Tile &some, Value row) {
      return finishTile(segment, some, takeRows, part, panel, row);
    };
    if (!filter)
      return finish(tile, first);
    LogicalResult result = success();
    k.choose(
        filter->asked(),
        [&] {
          filter->forSurvivors(tile, first,
                               [&](Tile &one, Value row) { result = finish(one, row); });
          return NoValues();
        },
        [&] { return result = finish(tile, first), NoValues(); });
    return result;
  }

  /// Emits one main loop, or two for a gated pair, and the epilogue of the sums.
  LogicalResult finishTile(const Segment &segment, Tile &tile, function_ref<void(size_t)> takeRows,
                           Value part, Value panel, Value first) {
    KernelBuilder::Values sums = emitMainLoop(tile, segment.layout);
    if (gated) {
      for (auto [i, sum] : llvm::enumerate(sums))
        k.store(sum, k.at(gateSums, i * 4 * k.lanes), 4 * k.lanes);
      takeRows(1);
      sums = emitMainLoop(tile, segment.layout);
    }
    SmallVector<KernelBuilder::Values> values(tile.tokens);
    bool quantise = segment.type.getKind() == RowKind::Q8 && !part;
    for (int t = 0; t < tile.tokens; ++t) {
      for (auto [v, rows] : llvm::enumerate(tile.vectors)) {
        FailureOr<Value> value =
            emitEpilogue(segment, sums, t * tile.vectors.size() + v, rows, panel, first, t);
        if (failed(value))
          return failure();
        values[t].push_back(*value);
      }
      if (quantise)
        continue;
      if (keys) {
        Value row = k.add(first, t), most = keys->fold(values[t], tile.vectors, panel, row);
        if (filter)
          filter->raise(most, row);
      }
      if (segment.y)
        storeValues(segment, values[t], tile.vectors, panel, first, t);
      if (maxima)
        maxima->store(values[t], tile.vectors, panel, k.add(first, t));
    }
    if (quantise)
      storeQuantised(segment, values, panel, first);
    return success();
  }

  /// Prefetches a part of the next panel. With several tiles of tokens, the first tile over a panel would otherwise
  /// wait for memory, and memory would be idle during the later tiles. So each tile of the first kShareTokens tokens
  /// prefetches its share of the panel that this thread takes next, spread over the parts of its rows. (Later tiles
  /// prefetch bytes after that panel, which are not used. A branch would cost as much as these few loads, which overlap
  /// with the dot instructions.)
  void takeShareOfNext(const Segment &segment, Tile &tile, Value panel, Value first, Value part) {
    constexpr int64_t kShareTokens = 8;
    const PanelLayout &layout = segment.layout;
    if (!tile.prefetch || tile.tokens == 1 || xType.getKind() == RowKind::F32)
      return;
    int64_t groups = q8Row(layout.k).groups, lines = layout.panelBytes() / 64;
    const int64_t parts = kPanelRows / (tileVectors(k.isa, tile.tokens) * k.lanes);
    tile.nextLines = llvm::divideCeil(lines * tile.tokens, groups * kShareTokens * parts);
    Value before = k.mul(k.sub(first, blockStart), lines / kShareTokens * 64);
    Value next = k.at(panel, k.mul(k.step, layout.panelBytes()));
    if (part)
      before = k.add(before, k.mul(part, lines * tile.tokens / (kShareTokens * kPanelRows) * 64));
    tile.next = k.at(next, k.minSigned(before, k.word(layout.panelBytes())));
  }

  KernelBuilder::Values emitMainLoop(const Tile &tile, const PanelLayout &layout) {
    if (tile.amxSums) {
      KernelBuilder::Values sums;
      for (int t = 0; t < tile.tokens; ++t)
        for (const TileRows &rows : tile.vectors)
          sums.push_back(
              k.load(k.f32s, rows.at(k, k.at(tile.amxSums, t * kPanelRows * 4), 4), 4 * k.lanes));
      return sums;
    }
    if (numericFormat(layout.format).isScaledFloat())
      return emitFp8Loop(k, tile, layout);
    if (numericFormat(layout.format).isFloat())
      return tile.bf16Dot ? emitBf16DotLoop(k, tile, layout) : emitFloatLoop(k, tile, layout);
    return xType.getKind() != RowKind::F32 ? emitFastLoop(k, tile, layout)
                                           : emitExactLoop(k, tile, layout);
  }

  /// Applies the segment's region to sum i of the tile, with its gate sum (gated pair) and aux operands.
  FailureOr<Value> emitEpilogue(const Segment &segment, ArrayRef<Value> sums, size_t i,
                                const TileRows &rows, Value panel, Value first, int t) {
    SmallVector<Value> operands;
    if (gated)
      operands.push_back(k.load(k.f32s, k.at(gateSums, i * 4 * k.lanes), 4 * k.lanes));
    operands.push_back(sums[i]);
    for (auto [base, isRows] : segment.aux) {
      Value from = isRows ? outputAt(segment, base, rows, panel, first, t)
                          : rows.at(k, k.at(base, k.mul(amongAll(panel), kPanelRows * 4)), 4);
      operands.push_back(k.load(k.f32s, from, 4 * k.lanes));
    }
    FailureOr<KernelBuilder::Values> yielded = k.inlineRegion(*segment.epilogue, operands, k.lanes);
    if (failed(yielded))
      return failure();
    return yielded->front();
  }

  /// Stores the values of token t in the row. If the row is to be quantised and the tile has only part of the
  /// panel, stores them in the staging area until all 32 are computed.
  void storeValues(const Segment &segment, ArrayRef<Value> values, ArrayRef<TileRows> outputs,
                   Value panel, Value first, int t) {
    for (auto [value, rows] : llvm::zip_equal(values, outputs)) {
      Value to = segment.type.getKind() == RowKind::Q8
                     ? rows.at(k, k.at(staged, t * kPanelRows * 4), 4)
                     : outputAt(segment, segment.y, rows, panel, first, t);
      k.store(value, to, 4 * k.lanes);
    }
  }

  void quantizeStaged(const Segment &segment, int tokens, Value panel, Value first) {
    SmallVector<KernelBuilder::Values> values(tokens);
    for (int t = 0; t < tokens; ++t)
      for (int64_t row = 0; row < kPanelRows; row += k.lanes)
        values[t].push_back(k.load(k.f32s, k.at(staged, (t * kPanelRows + row) * 4), 4 * k.lanes));
    storeQuantised(segment, values, panel, first);
  }

  /// Quantises and stores the 32 values of this panel for each token of a tile.
  void storeQuantised(const Segment &segment, ArrayRef<KernelBuilder::Values> values, Value panel,
                      Value first) {
    SmallVector<Value> rows;
    for (size_t t = 0; t < values.size(); ++t)
      rows.push_back(quantisedRow(segment, first, int(t)));
    storeQuantizedGroups(k, values, rows, panel, q8Row(segment.type.getN()));
  }

  Value quantisedRow(const Segment &segment, Value first, int t) {
    int64_t rowBytes = segment.type.rowBytes();
    return k.at(k.at(segment.y, k.mul(first, rowBytes)), t * rowBytes);
  }
  /// Returns an address in f32 rows of the segment's width.
  Value outputAt(const Segment &segment, Value base, const TileRows &rows, Value panel, Value first,
                 int t) {
    int64_t rowBytes = f32RowBytes(segment.type.getN());
    Value row = k.at(k.at(base, k.mul(first, rowBytes)), k.mul(panel, kPanelRows * 4));
    return rows.at(k, k.at(row, t * rowBytes), 4);
  }

  KernelBuilder &k;
  kernel::MatmulOp op;
  const kernel::ScheduleAttr schedule;
  const bool gated;
  const ActivationType xType;
  SmallVector<Segment, 1> segments;
  kernel::ArgmaxOp argmax;
  kernel::PanelMaximaOp largest;
  std::optional<MatmulKeys> keys;
  std::optional<CandidateFilter> filter;
  std::optional<PanelMaxima> maxima;
  Value firstOfMatrix; ///< for experts: index of the matrix's first panel; else null
  Value amxSums;       ///< in scratch: sums of a panel for a block of tokens
  Value staged;        ///< in scratch: outputs not yet quantised, f32 [tokens][32]
  Value gateSums;      ///< in scratch: sums of the first weight of a gated pair
  Value unpacked;      ///< in scratch: unpacked panels
  Value blockStart;    ///< first token of the block of tokens
};

} // namespace

kernel::KernelShape ingot::codegen::cpu::matmulShape(kernel::MatmulOp op) {
  if (isa<kernel::FusedType>(op.getX().getType()))
    return {"expects its activations to be in memory on CPUs"};
  if (op.getFused().size() > 1)
    return {"expects one segment on CPUs if its results are not written"};
  kernel::KernelShape shape;
  for (Value fusedValue : op.getFused())
    for (Operation *user : fusedValue.getUsers()) {
      if (!isa<kernel::StoreOp, kernel::PanelMaximaOp, kernel::ArgmaxOp>(user))
        return {"has a consumer that is not supported on CPUs: " +
                user->getName().getStringRef().str()};
      if (isa<kernel::ArgmaxOp>(user))
        shape.mostUnits = kGreedyRows; // scratch has room for that many rows
    }
  return shape;
}

LogicalResult ingot::codegen::cpu::emitMatmul(KernelBuilder &k, kernel::MatmulOp op) {
  return MatmulEmitter(k, op).emit();
}
