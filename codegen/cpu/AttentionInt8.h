//===- AttentionInt8.h - Attention in integers over a cache of int8 --------===//
//
// The KV cache of KvInt8.h, with q quantised as K is (Hadamard, one scale per row). Rows of an
// item as in AttentionItem.h; blocks are 128 positions at absolute multiples (four pages).
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
// Why the scale of V is inside the exponent: what is rounded to 8 bits is then the weight that
// the codes of V are summed with, and its largest one in the block is 255. A token that all rows
// look at and whose V is tiny (an attention sink) would otherwise take the range and leave the
// others, which make the sum, nothing. The denominator needs the weights without it: one fma
// by 1 / s_V. It sums them before rounding: sums of what was rounded away would be missing.
//
// 2^ in fixed point: y is in units of 2^-23, so that one conversion to int32 leaves the exponent
// where a float has it and a fraction below, of which a cubic makes the significand (relative
// error 7.5e-5, of which a step of u is 50 times). What this costs matters: on Zen5 a product
// of 64 bytes shares its pipes with f32 fma and mul, and not with additions, conversions and
// integer arithmetic. So per vector of 16 positions there are six of the former (two for y, three
// of the cubic, one for l) beside head_dim / 2 products.
//
// Why bits do not depend on company: a row's numbers come of its own q, m, l, o and of positions
// it may see. For blocks that some token of the item does not see whole there are L and 1 / s_V
// of each token, -1e30 and 0 at what it may not see: u is 0 there, and nothing is added. A
// block that is masked for a row as a whole changes nothing of it: b = 0 and a = 1, or (nothing
// seen yet) what it leaves in o is multiplied by a = 0 later. Integers are exact and f32 is in the
// same order at both levels, so their bits are equal.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::kernel {
class AttentionOp;
}

namespace ingot::cpu {

/// Positions of a block.
constexpr int64_t kInt8Block = 128;
/// Most rows of a register tile, at any level: 6 x 4 sums and 4 of K or V fill 32 registers (AVX2
/// takes 2 rows).
constexpr int64_t kAttentionRows = 6;

/// Scratch of an item, in bytes.
struct AttentionInt8Shape {
  explicit AttentionInt8Shape(kernel::AttentionOp op);

  int64_t rows;    ///< most rows of an item
  int64_t qStride; ///< bytes between rows of q8
  int64_t chunks;  ///< vectors of 16 that hold a row of o

  int64_t q, rowScale, start;  ///< codes; s_q and constants; -128 sum of codes
  int64_t o, l, m;             ///< [rows][chunks*16], [rows][16], [rows + 16]
  int64_t pages;               ///< [4] addresses: K and V of the head, its scales
  int64_t ahead;               ///< of the next block: [4] K, its scales, V, its scales
  int64_t keyScales;           ///< [128]
  int64_t logScales, inverses; ///< [17][128]: of each token; the last without masks
  int64_t scores, weights;     ///< of a register tile: [6][128] f32, [6][128] u8
  int64_t lowered, factors;    ///< of a register tile: M - log2 255 [6][16]; a and b, [16] each
  int64_t bytes;
};

mlir::LogicalResult emitAttentionInt8(KernelBuilder &k, kernel::AttentionOp op);

} // namespace ingot::cpu
