//===- Attention.h - Shape of the attention kernel ------------------------===//
//
// Flash attention over a paged cache, with one work item per (tile of query tokens, KV head).
// The rows of an item are the tile's tokens x the query heads of the group, with
// row = token * group + head. Each byte of K and V is therefore read once per item.
//
//   for each block (128 positions, four pages, at fixed absolute positions, ascending):
//     for each register tile of rows:
//       S = q . K      [rows][128]  K is [d][32]: one fma chain per score, d ascending
//       S = tanh(scale S / cap) with a soft-cap;  -inf where masked
//       m' = max(m, c max S);  a = 2^(m-m');  P = 2^(c S - m')        c = log2(e) * (scale, or cap if soft-capped)
//       l  = l a + sum P             16 partial sums, tree at the end
//       o  = o a;  o += P_j V_j      [rows][d], j ascending
//   y = o / l
//
// Tiles are 12 rows by 2 vectors, because a vector of an f16 cache is then widened once and multiplied 12 times. A tile
// with fewer rows has more vectors, and also widens each of them only once. Blocks are four pages, because a softmax is
// a chain of 30 dependent instructions at any width, and o is rescaled once per block.
//
// A token's result has the same bits in every batch, for these reasons. Blocks start at multiples of 128 in every
// chunk. A row's result depends on its own q, m, l and o only. If a block, or a part of it, is masked for a row, it
// changes nothing: m' = m, a = 2^0 = 1, P = 0. m starts at a finite value, so a masked first block does not produce
// NaN. Positions that no row of the item may see may hold NaN. Their scores are replaced, and V is only read starting
// at the first visible position.
//
// bf16: one 64-byte load holds 32 values. In each 32-bit lane, the value with the even index is in the lower half. A
// shift and a mask separate the two values, so no widening is needed, and scores come as (even, odd) positions. If
// head_dim is a multiple of 32, o is kept as (even, odd) elements until the end.
//
// Scratch of an item:  q[rows][Dq] | o[rows][chunks*16] | l[rows][16] | m[rows+16] | S,
// P[tile][128] | a[16]
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/AttentionItem.h"

namespace ingot::codegen::cpu {

struct AttentionShape {
  explicit AttentionShape(kernel::AttentionOp op);

  KvFormat element;
  int64_t qStride; ///< floats between rows of q in scratch
  /// Returns the number of bytes that `count` values take in the cache.
  int64_t storedBytes(int64_t count) const { return kvFormat(element).valueBytes(count); }
  bool split; ///< o is kept as (even, odd) elements of each 32

  // In scratch memory.
  AttentionState state;
  int64_t qOffset, sOffset, factorsOffset, bytes;
};

/// Maximum rows of a register tile, at any ISA level. 12 x 2 vectors of scores or of o, 2 vectors of K or V, and the
/// values that they are multiplied by, fit 32 registers. AVX2 has half as many registers of half the size, so it takes
/// 2 rows.
constexpr int64_t kFloatRows = 12;

} // namespace ingot::codegen::cpu
