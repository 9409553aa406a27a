//===- MatmulFloat.cpp - Float weights times f32 rows ---------------------===//
//
// One fma per k and output, in order of k; f16 and bf16 weights are widened in registers. With
// `fast_float`, bf16 weights and AVX512-BF16, activations are first rounded to bf16 (once per block
// of tokens, into scratch), and vdpbf16ps takes two k at a time. It adds the product with the odd k of a pair first. It
// does not round in between, and it flushes denormals.
//===----------------------------------------------------------------------===//
#include "codegen/cpu/MatmulTile.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

/// Blocks of a panel per iteration of the loop.
static constexpr int64_t kBlocksPerRound = 8;

/// Calls emitRange(block, count, sums) over all blocks of a panel: in a loop of kBlocksPerRound, then for the rest.
template <typename EmitRange>
static KernelBuilder::Values rounds(KernelBuilder &k, const Tile &tile, int64_t blocks,
                                    EmitRange emitRange) {
  int64_t whole = blocks / kBlocksPerRound * kBlocksPerRound;
  KernelBuilder::Values sums(tile.sums(), k.splat(0));
  if (whole)
    sums = k.loop(k.word(0), k.word(whole), k.word(kBlocksPerRound), sums,
                  [&](Value block, ValueRange carried) {
                    return emitRange(block, kBlocksPerRound,
                                     KernelBuilder::Values(carried.begin(), carried.end()));
                  });
  return whole < blocks ? emitRange(k.word(whole), blocks - whole, sums) : sums;
}

/// Returns, for each vector, the start of a block of its panel.
static SmallVector<Value> blocksAt(KernelBuilder &k, const Tile &tile, const PanelLayout &layout,
                                   Value block) {
  SmallVector<Value> places;
  for (size_t v = 0; v < tile.vectors.size(); ++v) {
    if (v && tile.vectors[v].panel == tile.vectors[v - 1].panel) {
      places.push_back(places.back());
      continue;
    }
    places.push_back(k.at(tile.vectors[v].panel, k.mul(block, layout.blockBytes)));
    tile.prefetchBehind(k, places.back(), layout.blockBytes * kBlocksPerRound);
  }
  return places;
}

Value ingot::codegen::cpu::numberOfPair(KernelBuilder &k, Value pairs, int64_t odd) {
  return k.bitcast(k.f32s,
                   odd ? k.bitAnd(pairs, int64_t(int32_t(0xffff0000))) : k.shiftLeft(pairs, 16));
}

/// Returns the weight of each lane at value `inPair` of a block, as f32.
static Value weightAt(KernelBuilder &k, const TileRows &rows, Value block, WeightFormat format,
                      int64_t inPair) {
  if (format == WeightFormat::F32)
    return k.load(k.f32s, rows.at(k, block, 4), 4 * k.lanes);
  if (format == WeightFormat::F16)
    return k.extend(k.load(k.vec(k.f16, k.lanes), rows.at(k, block, 2), 2 * k.lanes));
  return numberOfPair(k, k.load(k.i32s, rows.at(k, block, 4), 4 * k.lanes), inPair);
}

KernelBuilder::Values ingot::codegen::cpu::emitFloatLoop(KernelBuilder &k, const Tile &tile,
                                                         const PanelLayout &layout) {
  size_t vectors = tile.vectors.size();
  auto emitRange = [&](Value block, int64_t count, KernelBuilder::Values sums) {
    SmallVector<Value> places = blocksAt(k, tile, layout, block);
    Value x = k.at(tile.x, k.mul(block, layout.blockK * 4));
    for (int64_t i = 0; i < count * layout.blockK; ++i) {
      SmallVector<Value> w;
      for (size_t v = 0; v < vectors; ++v)
        w.push_back(weightAt(k, tile.vectors[v],
                             k.at(places[v], i / layout.blockK * layout.blockBytes), layout.format,
                             i % layout.blockK));
      for (int t = 0; t < tile.tokens; ++t) {
        Value value = k.loadSplat(k.f32s, k.at(x, t * tile.xRowBytes + i * 4));
        for (size_t v = 0; v < vectors; ++v)
          sums[t * vectors + v] = k.fma(w[v], value, sums[t * vectors + v]);
      }
    }
    return sums;
  };
  return rounds(k, tile, layout.blocks, emitRange);
}

/// Adds the products of two pairs of bf16 to each lane of `sum`, that of the odd numbers first (vdpbf16ps).
static Value addProducts(KernelBuilder &k, Value sum, Value a, Value c) {
  if (!k.isa.emulated)
    return k.intrinsic("llvm.x86.avx512bf16.dpbf16ps.512", k.f32s, {sum, a, c});
  Value pairs = k.bitcast(k.i32s, a), others = k.bitcast(k.i32s, c);
  for (int odd : {1, 0})
    sum = k.fma(numberOfPair(k, pairs, odd), numberOfPair(k, others, odd), sum);
  return sum;
}

KernelBuilder::Values ingot::codegen::cpu::emitBf16DotLoop(KernelBuilder &k, const Tile &tile,
                                                           const PanelLayout &layout) {
  size_t vectors = tile.vectors.size();
  VectorType pairs = k.vec(k.bf16, 2 * k.lanes);
  auto emitRange = [&](Value block, int64_t count, KernelBuilder::Values sums) {
    SmallVector<Value> places = blocksAt(k, tile, layout, block);
    Value x = k.at(tile.x, k.mul(block, 4));
    for (int64_t i = 0; i < count; ++i) {
      SmallVector<Value> w;
      for (size_t v = 0; v < vectors; ++v)
        w.push_back(k.load(pairs, tile.vectors[v].at(k, k.at(places[v], i * layout.blockBytes), 4),
                           4 * k.lanes));
      for (int t = 0; t < tile.tokens; ++t) {
        Value value = k.bitcast(pairs, k.loadSplat(k.i32s, k.at(x, t * tile.xRowBytes + i * 4)));
        for (size_t v = 0; v < vectors; ++v) {
          Value &acc = sums[t * vectors + v];
          acc = addProducts(k, acc, w[v], value);
        }
      }
    }
    return sums;
  };
  return rounds(k, tile, layout.blocks, emitRange);
}

/// Rounds two registers to bf16 and stores both: to the nearest, ties to even.
static void storeRounded(KernelBuilder &k, ValueRange pair, Value to) {
  if (!k.isa.emulated)
    return k.store(
        k.intrinsic("llvm.x86.avx512bf16.cvtne2ps2bf16.512", k.vec(k.bf16, 32), {pair[1], pair[0]}),
        to, 64);
  for (auto [i, value] : llvm::enumerate(pair)) { // NaN may become infinity
    Value bits = k.bitcast(k.i32s, value), odd = k.bitAnd(k.shiftRight(bits, 16), 1);
    Value upper = k.shiftRight(k.add(k.add(bits, k.splatInt(k.i32s, 0x7fff)), odd), 16);
    k.store(k.narrow(upper, k.vec(k.i16, k.lanes)), k.at(to, i * 2 * k.lanes), 2 * k.lanes);
  }
}

void ingot::codegen::cpu::emitRoundRows(KernelBuilder &k, Value from, Value to, Value count,
                                        int64_t columns) {
  k.loop(k.word(0), count, k.word(1), [&](Value t) {
    Value source = k.at(from, k.mul(t, f32RowBytes(columns))),
          target = k.at(to, k.mul(t, bf16RowBytes(k.isa, columns)));
    k.loop(0, roundUp(columns, kGroupK), kGroupK, [&](Value i) {
      Value x = k.at(source, k.mul(i, 4));
      Value low = k.load(k.f32s, x, 64), high = k.load(k.f32s, k.at(x, 64), 64);
      storeRounded(k, {low, high}, k.at(target, k.mul(i, 2)));
    });
  });
}
