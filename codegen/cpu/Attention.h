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
// Why tiles are 12 rows by 2 vectors: a vector of an f16 cache is widened once and then used for 12
// products. A tile with fewer rows has more vectors, and also widens each of them only once. Why
// blocks are four pages: a softmax is a chain of 30 dependent instructions at any width, and o is
// rescaled once per block.
//
// Why a token's bits are batch-invariant: blocks start at multiples of 128 in every chunk. A row's
// numbers come from its own q, m, l and o only. If a block, or a part of it, is masked for a row, it
// changes nothing: m' = m, a = 2^0 = 1, P = 0. m starts at a finite number, so a masked first block
// does not produce NaN. Positions that no row of the item may see may hold NaN. Their scores are
// replaced, and V is only read starting at the first visible position.
//
// bf16: one 64-byte load holds 32 numbers, the even ones in the lower halves. They are split by a
// shift and a mask rather than widened, so scores come as (even, odd) positions. If head_dim is a
// multiple of 32, o is kept as (even, odd) elements until the end.
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
  /// Returns the bytes that `count` values take in the cache.
  int64_t storedBytes(int64_t count) const { return kvFormat(element).valueBytes(count); }
  bool split; ///< o is kept as (even, odd) elements of each 32

  // In scratch memory.
  AttentionState state;
  int64_t qOffset, sOffset, factorsOffset, bytes;
};

/// Maximum rows of a register tile, at any ISA level. 12 x 2 vectors of scores or of o, 2 of K or V
/// and the numbers that they are multiplied by fit 32 registers. AVX2, which has half as many
/// registers of half the size, takes 2 rows.
constexpr int64_t kFloatRows = 12;

} // namespace ingot::codegen::cpu
