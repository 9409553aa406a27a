//===- AttentionInt8.h - Attention in integers over a cache of int8 --------===//
//
// Reads the KV cache of KvInt8.h. q is quantised in the same way as K (Hadamard, one scale per row).
// Rows of an item are as in AttentionItem.h; blocks are 128 positions (four pages) that start at
// absolute multiples of 128.
//
//   once per item           q8[row], scale s_q[row]
//   for each block, ascending:
//     once per block        L_j = log2 s_V[j],  1 / s_V[j];  where masked for a token: -1e30 and 0
//     for each register tile of rows:
//       D = q8 . K8                                      exact, u8 x s8 in int32
//       y_j = (float(D_j) s_K[j]) (s_q scale log2e / n) + L_j       one mul, one fma
//       M   = max_j y_j
//       u_j = 2^(y_j - M) 255                            in units of p_j s_V[j]
//       l_b = sum u_j / s_V[j]                           u not rounded; 16 partial sums
//       o_b = sum round(u_j) V8_j                        exact, u8 x s8 in int32
//       m'  = max(m, M);  a = 2^(m - m'), b = 2^(M - m')
//       l   = l a + l_b b;  o = o a + float(o_b) b
//   y = o / l
//
// The scale of V is inside the exponent, so the value that is rounded to 8 bits is the factor u that multiplies the
// codes of V. The largest u in a block is 255. Without the scale, an attention sink (a token with a tiny V to which all
// rows attend) would use up the range, and the tokens that make up the sum would round to 0. The denominator needs the
// weights without the scale, which takes one fma by 1 / s_V. It sums the weights before rounding, because the sum would
// otherwise lack the parts that were rounded away.
//
// 2^ in fixed point: y is in units of 2^-23, so one conversion to int32 puts the exponent where a
// float has it, and the fraction below it. A cubic turns the fraction into the significand (relative
// error 7.5e-5; a step of u is 50 times as large). The number of multiplications matters: on Zen 5 a dot instruction on
// 64 bytes shares its pipes with f32 fma and mul, but not with additions, conversions and integer arithmetic. A vector
// of 16 positions takes six fmas or muls (two for y, three for the cubic, one for l) in addition to head_dim / 2 dot
// instructions.
//
// A row's result has the same bits in every batch, because it depends only on the row's own q, m, l and o and on
// positions that the row may see. If some token of the item may see only part of a block, L and 1 / s_V are stored for
// each token. They are -1e30 and 0 at positions that the token may not see, so u is 0 there and nothing is added. A
// block that is masked entirely for a row changes nothing in it: b = 0 and a = 1. If the row has not seen any position
// yet, the block may leave values in o, but the first visible block multiplies them by a = 0. Integers are exact and
// f32 operations have the same order at every ISA level, so the bits are equal.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/AttentionItem.h"

namespace ingot::codegen::cpu {

/// Maximum rows of a register tile, at any ISA level. 6 x 4 sums and 4 vectors of K or V fill 32
/// registers. AVX2 takes 2 rows.
constexpr int64_t kAttentionRows = 6;

/// Offsets in an item's scratch memory, in bytes.
struct AttentionInt8Shape {
  explicit AttentionInt8Shape(kernel::AttentionOp op);

  int64_t qStride; ///< bytes between rows of q8

  int64_t q, rowScale, start; ///< codes; s_q and constants; -128 sum of codes
  AttentionState state;
  int64_t pages;               ///< [4] addresses: K and V of the head, scales of K
  int64_t ahead;               ///< for the next block: [4] K, its scales, V, its scales
  int64_t keyScales;           ///< [128]
  int64_t logScales, inverses; ///< [17][128]: one per token; the last has no masks
  int64_t scores, weights;     ///< of a register tile: [6][128] f32, [6][128] u8
  int64_t lowered, factors;    ///< of a register tile: M - log2 255 [6][16]; a and b, [16] each
  int64_t bytes;
};

mlir::LogicalResult emitAttentionInt8(KernelBuilder &k, kernel::AttentionOp op);

} // namespace ingot::codegen::cpu
