//===- MatmulAmx.cpp - bf16 weights times bf16 rows, in AMX tiles ----------===//
//
// A tile register is 16 rows of 64 bytes. tdpbf16ps multiplies 16 tokens x 32 k by 32 k x 16 rows and adds the result
// to 16 x 16 sums in f32 (Intel SDM, TDPBF16PS). A panel of bf16 needs no packing for it: the word of a row holds two
// consecutive k, as the instruction expects them.
//
//            w0 (16 rows)  w1 (16 rows)          x  [16 tokens][32 k]  rows of emitRoundRows
//   x0  [ sums 0        ][ sums 1     ]          w  [16 pairs of k][16 rows] lines of the panel, two apart
//   x1  [ sums 2        ][ sums 3     ]          sums  [16 tokens][16 rows]
//
// The sums stay in their tiles for all of K, so a step of 32 k takes four loads and four tdpbf16ps. For 16 tokens or
// fewer there is only x0. (Cutting K into parts that stay in L1 was not faster.) In each step, tdpbf16ps sums even k
// and odd k separately, in ascending order, and then adds the two sums to the accumulator. The bits do not depend on
// which tokens share a tile.
//===----------------------------------------------------------------------===//
#include "codegen/cpu/MatmulTile.h"

#include <array>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

namespace {

constexpr int kX = 4, kW = 6; ///< the first tile register of x and of weights; sums begin at 0
constexpr int64_t kStepBytes = kAmxK / 2 * kPanelLine; ///< bytes of a panel per step of kAmxK
constexpr int64_t kSumRowBytes = kPanelRows * 4;

class AmxLoop {
public:
  AmxLoop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout, Value to)
      : k(k), tile(tile), layout(layout), to(to) {}

  void emit(Value count) {
    if (k.isa.emulated)
      return emitEmulated(count);
    Value groups = k.divUnsigned(k.add(count, kAmxTokens - 1), kAmxTokens);
    Value pairs = k.divUnsigned(groups, 2);
    k.loop(k.word(0), pairs, k.word(1), [&](Value pair) { emitTokens(k.mul(pair, 2), 2); });
    k.when(k.equal(k.remUnsigned(groups, 2), k.word(1)), [&] { emitTokens(k.mul(pairs, 2), 1); });
  }

private:
  Value panel() const { return tile.vectors.front().panel; }
  Value number(int64_t i) { return k.integer(k.i8, i); }

  /// Computes the sums of `groups` times 16 tokens, which begin with group `first`.
  void emitTokens(Value first, int groups) {
    Value x = k.at(tile.x, k.mul(first, kAmxTokens * tile.xRowBytes));
    for (int sum = 0; sum < 2 * groups; ++sum)
      k.instruction("llvm.x86.tilezero", {number(sum)});
    k.loop(0, layout.k / kAmxK, 1, [&](Value step) {
      Value w = k.at(panel(), k.mul(step, kStepBytes)), xStep = k.at(x, k.mul(step, 2 * kAmxK));
      tile.prefetchBehind(k, w, kStepBytes);
      auto load = [&](int64_t to, Value from, int64_t stride) {
        k.instruction("llvm.x86.tileloadd64", {number(to), from, k.word(stride)});
      };
      for (int64_t v = 0; v < 2; ++v)
        load(kW + v, k.at(w, v * 64), kPanelLine);
      for (int64_t group = 0; group < groups; ++group) {
        load(kX + group, k.at(xStep, group * kAmxTokens * tile.xRowBytes), tile.xRowBytes);
        for (int64_t v = 0; v < 2; ++v)
          k.instruction("llvm.x86.tdpbf16ps",
                        {number(2 * group + v), number(kX + group), number(kW + v)});
      }
    });
    Value sums = k.at(to, k.mul(first, kAmxTokens * kSumRowBytes));
    for (int64_t sum = 0; sum < 2 * groups; ++sum)
      k.instruction("llvm.x86.tilestored64",
                    {number(sum), k.at(sums, sum / 2 * kAmxTokens * kSumRowBytes + sum % 2 * 64),
                     k.word(kSumRowBytes)});
  }

  /// Computes the sums in generic IR. They have the same bits, except that tdpbf16ps flushes denormals.
  void emitEmulated(Value count) {
    k.loop(k.word(0), count, k.word(1), [&](Value t) {
      Value x = k.at(tile.x, k.mul(t, tile.xRowBytes));
      for (int64_t row = 0; row < kPanelRows; row += k.lanes) {
        auto step = [&](Value step, ValueRange sum) -> KernelBuilder::Values {
          Value w = k.at(k.at(panel(), k.mul(step, kStepBytes)), row * 4);
          Value pairs = k.at(x, k.mul(step, 2 * kAmxK));
          std::array<Value, 2> parts = {k.splat(0), k.splat(0)};
          for (int64_t pair = 0; pair < kAmxK / 2; ++pair) {
            Value weights = k.load(k.i32s, k.at(w, pair * kPanelLine), 4 * k.lanes);
            Value values = k.loadSplat(k.i32s, k.at(pairs, pair * 4));
            for (int odd = 0; odd < 2; ++odd)
              parts[odd] =
                  k.fma(numberOfPair(k, weights, odd), numberOfPair(k, values, odd), parts[odd]);
          }
          return {k.fadd(sum.front(), k.fadd(parts[0], parts[1]))};
        };
        Value sum =
            k.loop(k.word(0), k.word(layout.k / kAmxK), k.word(1), k.splat(0), step).front();
        k.store(sum, k.at(k.at(to, k.mul(t, kSumRowBytes)), row * 4), 4 * k.lanes);
      }
    });
  }

  KernelBuilder &k;
  const Tile &tile;
  const PanelLayout &layout;
  const Value to;
};

} // namespace

void ingot::codegen::cpu::emitTileConfig(KernelBuilder &k, Value count, Value at) {
  if (k.isa.emulated)
    return;
  // The bytes of the configuration (Intel SDM, LDTILECFG): palette 1 at 0, bytes of a row at 16 + 2 i, rows at 48 + i.
  std::array<uint8_t, 64> bytes{1};
  for (int i = 0; i < 8; ++i)
    bytes[16 + 2 * i] = 64, bytes[48 + i] = kAmxTokens;
  k.store(k.constant(ArrayRef(bytes)), at, 1);
  // For fewer than kAmxTokens tokens, tiles of tokens have fewer rows. (For more, they have all rows, and the sums of
  // tokens after the last are not used.)
  Value rows = k.narrow(k.minSigned(count, k.word(kAmxTokens)), k.i8);
  for (int i = 0; i < kW; ++i)
    k.store(rows, k.at(at, 48 + i));
  k.instruction("llvm.x86.ldtilecfg", at);
}

void ingot::codegen::cpu::emitTileRelease(KernelBuilder &k) {
  if (!k.isa.emulated)
    k.instruction("llvm.x86.tilerelease", {});
}

void ingot::codegen::cpu::emitAmxSums(KernelBuilder &k, const Tile &tile, const PanelLayout &layout,
                                      Value count, Value to) {
  AmxLoop(k, tile, layout, to).emit(count);
}
