//===- attention.cuh - Paged attention over KV tiles -------------------------===//
//
// The rows of a block are the tokens of an attention tile x the query heads that share a KV head:
// row = token * group + head. A warp takes 16 rows and a *KV tile* of 64 positions (two pages) that
// starts at a multiple of 64. Four KV tiles that start at a multiple of 256 are a *KV chunk*:
//
//   S = q K^T            mma, q rounded to bf16
//   m = max S, p = 2^(S - m), l = Σ p, o = p V           a KV tile is independent of the others
//   chunk <- merge of its KV tiles' (m, l, o), in order   a KV chunk is independent of the others
//   total <- merge of the chunks' (m, l, o), in order
//
// Since KV tiles and chunks are independent and merged in order, it does not matter which warps and
// blocks compute them. For a decode tile (one token of a sequence) each warp of a block takes a KV tile
// of a chunk, and blocks take chunks (attention_decode.cuh). For a prompt tile each warp iterates over
// all KV tiles of its rows (attention_prefill.cuh). Both kernels give the same bits. A step with tiles
// of both kinds launches both kernels. A KV tile or chunk that a row may not see at all adds nothing to
// the merge.
//
// K and V are loaded from global memory into fragments, 16 bytes per load (8 for E4M3), in an order in
// which no two lanes load the same data:
//
//   K   a head dimension may become any k of the MMA, as long as q uses the same order: lane (g, c) loads dimensions
//       32t + 8c … + 7 of position 8j + g; the four pairs are b0, b1 of step 2t and b0, b1 of step 2t + 1
//   V   a dimension may become any column of the MMA: lane (g, c) loads dimensions 64h + 8g … + 7 of positions 16i +
//       {2c, 2c+1, 2c+8, 2c+9}; the e-th of the eight is column g of MMA e, and a byte permutation assembles a pair of
//       positions
//
// A scaled page (E4M3) has a scale for each position. Scores are multiplied by the scale of K. Probabilities are
// multiplied by the scale of V before they are rounded for the MMA. l is the sum of the unscaled probabilities.
//===----------------------------------------------------------------------===//
#pragma once

#include "kv_page.cuh"

constexpr i32 kKvTile = 64;        ///< positions of a KV tile
constexpr i32 kChunkTiles = 4;     ///< KV tiles of a KV chunk: 256 positions
constexpr float kNoScore = -1e30f; ///< below any score, finite

/// The emitter defines struct S { headDim, heads, kvHeads, window (0: none), scale, softcap (0: none),
/// fp8, shares, packs, sinks, … }. `shares`: several blocks may split a tile. `packs`: rows of y are
/// bf16 and headDim is a multiple of 16. `sinks`: each head has a sink.
template <class S> struct AttentionShape {
  static constexpr i32 group = S::heads / S::kvHeads;
  static constexpr i32 kChunks = divide_up(S::headDim, 32), vChunks = divide_up(S::headDim, 64);
  /// The number of chunks of 32 dimensions of K that are loaded at once. All chunks are loaded at once if they fit the
  /// registers together with the sums of a decode block.
  static constexpr i32 together = S::headDim > 128 ? 1 : group *S::headDim > 1024 ? 2 : kChunks;
  static constexpr bool qInRegisters = S::headDim <= 64;
  static constexpr i32 qBytes =
      qInRegisters ? 0 : kChunks * 2 * 512; ///< bytes of 16 rows of q in shared memory
};

/// Eight dimensions of a vector as stored in a page, and as bf16.
template <bool Fp8> struct Eight {
  typedef uint4 type;
};
template <> struct Eight<true> {
  typedef uint2 type;
};
template <class S> using EightOf = typename Eight<S::fp8>::type;
DEVICE uint4 as_bf16(uint4 v) { return v; }
DEVICE uint4 as_bf16(uint2 v) {
  uint4 pairs;
  e4m3_to_bf16(v.x, pairs.x, pairs.y);
  e4m3_to_bf16(v.y, pairs.z, pairs.w);
  return pairs;
}
/// Loads eight dimensions, starting at d; those beyond the head are 0.
template <class S> DEVICE EightOf<S> load_eight(const u8 *row, i32 d) {
  constexpr i32 bytes = S::fp8 ? 1 : 2, each = 4 / bytes; // elements of a word
  EightOf<S> eight = {};
  if constexpr (S::headDim % 8 == 0) {
    if (d < S::headDim)
      eight = *(const EightOf<S> *)(row + d * bytes);
  } else {
    u32 words[2 * bytes];
    UNROLL
    for (i32 i = 0; i < 2 * bytes; i++) {
      words[i] = 0;
      UNROLL
      for (i32 e = 0; e < each; e++)
        if (const i32 at = d + each * i + e; at < S::headDim)
          words[i] |= (S::fp8 ? (u32)row[at] : (u32)((const u16 *)row)[at]) << (8 * bytes * e);
    }
    eight.x = words[0], eight.y = words[1];
    if constexpr (!S::fp8)
      eight.z = words[2], eight.w = words[3];
  }
  return eight;
}

/// 16 rows of queries as A fragments. Step 2t + s holds pairs 2s and 2s + 1 of a lane's eight
/// dimensions of chunk t.
template <class S> struct Queries {
  using Shape = AttentionShape<S>;
  u32 registers[Shape::qInRegisters ? 2 * Shape::kChunks : 1][4];
  const uint4 *shared;

  /// Loads rows firstRow … firstRow + 15 of the attention tile; lane (g, c) loads from rows g and
  /// g + 8. In shared memory it writes only steps from, from + by, …
  MEMBER void load(const float *q, const AttentionTile &tile, i32 head, i32 firstRow, uint4 *to,
                   i32 from, i32 by) {
    const i32 lane = threadIdx.x % 32;
    const float *rows[2];
    UNROLL
    for (i32 half = 0; half < 2; half++) {
      const i32 row = firstRow + lane / 4 + 8 * half;
      rows[half] = row < tile.tokens * Shape::group
                       ? q + (i64)(tile.firstToken + row / Shape::group) * S::qStride +
                             (head * Shape::group + row % Shape::group) * S::headDim
                       : nullptr;
    }
    auto pair = [&](i32 step, i32 j) {
      const float *row = rows[j % 2];
      const i32 d = step / 2 * 32 + lane % 4 * 8 + step % 2 * 4 + j / 2 * 2;
      if (!row || d >= S::headDim)
        return 0u;
      if constexpr (S::headDim % 2 == 0) {
        const float2 both = *(const float2 *)(row + d);
        return pack_bf16(both.x, both.y);
      } else {
        return pack_bf16(row[d], d + 1 < S::headDim ? row[d + 1] : 0.0f);
      }
    };
    shared = to;
    if constexpr (Shape::qInRegisters) {
      UNROLL
      for (i32 step = 0; step < 2 * Shape::kChunks; step++) {
        UNROLL
        for (i32 j = 0; j < 4; j++)
          registers[step][j] = pair(step, j);
      }
    } else {
      for (i32 step = from; step < 2 * Shape::kChunks; step += by)
        to[step * 32 + lane] = uint4{pair(step, 0), pair(step, 1), pair(step, 2), pair(step, 3)};
    }
  }
  MEMBER void fragment(u32 (&a)[4], i32 step) const {
    if constexpr (Shape::qInRegisters) {
      UNROLL
      for (i32 j = 0; j < 4; j++)
        a[j] = registers[step][j];
    } else {
      const uint4 v = shared[step * 32 + threadIdx.x % 32];
      a[0] = v.x, a[1] = v.y, a[2] = v.z, a[3] = v.w;
    }
  }
};

/// Returns 2^(x - y). The result is not NaN if x and y are both kNoScore, because kNoScore is finite.
DEVICE float weight_of(float x, float y) { return exp2_fast(x - y); }
/// Merges one element of a part into the total so far. Both are multiplied by their weights.
DEVICE float merged(float total, float weight, float part, float weightOfPart) {
  return fma_f32(total, weight, part * weightOfPart);
}

/// Merges a sink into a total and returns the factor by which o must be multiplied. A sink is a head's
/// score of one additional position that has no value. It is merged once, after all KV chunks,
/// whichever blocks computed these. At that point registers are free again.
template <class S> DEVICE float add_sink(const float *sinks, i32 head, float most, float &sum) {
  if constexpr (!S::sinks)
    return 1.0f;
  const float sink = sinks[head] * 1.44269504f, higher = max_f32(most, sink),
              weight = weight_of(most, higher);
  sum = merged(sum, weight, 1.0f, weight_of(sink, higher));
  return weight;
}

/// The pages of a sequence, for one KV head.
template <class S> struct HeadPages {
  using Page = KvPage<S::kvHeads, S::headDim, S::fp8>;
  const u8 *pool;
  const i32 *table;
  i32 head, limit; ///< positions below limit are written
  i32 first;       ///< with a window: the first position that a row of the tile may see

  MEMBER Page page(i32 position) const { return Page(pool, table[position / kPageTokens]); }
  /// Returns page i of the two pages of a KV tile; the first page if nothing was written to page i.
  MEMBER Page pageOfTile(i32 start, i32 i) const {
    return page(start + kPageTokens * i < limit ? start + kPageTokens * i : start);
  }
  /// Loads the scales of a lane's positions 8j + 2c and 8j + 2c + 1. Scales of positions that are not
  /// written are 0. Scales of values are also 0 at positions that no row may see.
  MEMBER void scales(float (&to)[16], i32 start, bool ofValues) const {
    const i32 c = threadIdx.x % 4;
    UNROLL
    for (i32 i = 0; i < 2; i++) {
      const Page from = pageOfTile(start, i);
      const float *pairs = ofValues ? from.valueScale(head, 2 * c) : from.keyScale(head, 2 * c);
      UNROLL
      for (i32 j = 0; j < 4; j++) {
        const i32 left = limit - (start + kPageTokens * i + 8 * j + 2 * c);
        float2 pair{0.0f, 0.0f};
        if (left > 1)
          pair = *(const float2 *)(pairs + 8 * j);
        else if (left == 1)
          pair.x = pairs[8 * j];
        to[8 * i + 2 * j] = pair.x, to[8 * i + 2 * j + 1] = pair.y;
      }
    }
    if (S::window && ofValues && start < first) { // only one KV tile has such positions
      UNROLL
      for (i32 i = 0; i < 16; i++)
        to[i] = start + i / 2 * 8 + 2 * c + i % 2 < first ? 0.0f : to[i];
    }
  }
};

/// V of a KV tile, read from its pages: eight dimensions of position 16i + {2c, 2c+1, 2c+8, 2c+9}[j].
/// For positions that no row of the tile may see it returns 0 without a read. Their weight is 0, but
/// memory might hold a NaN, and 0 times NaN is NaN.
template <class S> struct ValuesInPages {
  const u8 *rows[2];
  i32 left; ///< positions of the KV tile that are written
  u32 seen; ///< with a window: bit 4i + j is set if the position is written and may be seen

  MEMBER ValuesInPages(const HeadPages<S> &pages, i32 start) : left(pages.limit - start) {
    UNROLL
    for (i32 i = 0; i < 2; i++)
      rows[i] = pages.pageOfTile(start, i).values(pages.head, 0);
    if constexpr (S::window)
      seen = before(left) & ~before(pages.first - start);
  }
  /// Returns the position within the KV tile.
  static MEMBER i32 place(i32 i, i32 j) {
    return 16 * i + 2 * (threadIdx.x % 4) + j % 2 + j / 2 * 8;
  }
  /// Returns a mask with bit 4i + j set if place(i, j) is below `end`. Places increase with the bit number.
  static MEMBER u32 before(i32 end) {
    const i32 own = end - 2 * (i32)(threadIdx.x % 4),
              in = own < 0    ? 0
                   : own < 64 ? own
                              : 64,
              inEight = in % 8;
    return (1u << (in / 8 * 2 + (inEight < 2 ? inEight : 2))) - 1;
  }
  MEMBER bool sees(i32 i, i32 j) const {
    if constexpr (S::window)
      return seen >> (4 * i + j) & 1;
    else
      return place(i, j) < left;
  }
  MEMBER const u8 *row(i32 i, i32 j) const {
    return (i < 2 ? rows[0] : rows[1]) + place(i, j) % kPageTokens * HeadPages<S>::Page::rowBytes;
  }
  MEMBER EightOf<S> operator()(i32 h, i32 i, i32 j) const {
    return sees(i, j) ? load_eight<S>(row(i, j), 64 * h + 8 * (threadIdx.x % 32 / 4))
                      : EightOf<S>{};
  }
};

/// A KV tile for 16 rows: m and l of rows g and g + 8 and, 64 dimensions at a time, o.
template <class S> struct KvTile {
  using Shape = AttentionShape<S>;
  using Page = typename HeadPages<S>::Page;
  float m[2], l[2];
  u32 p[4][1][4]; ///< A fragments: 16 rows x 64 positions

  /// Computes m, l and p. positionOf[half] are the positions of the lane's rows. They see positions
  /// start … start + 63 as far as the causal mask and the window allow.
  MEMBER void score(const Queries<S> &q, const HeadPages<S> &pages, i32 start,
                    const i32 (&positionOf)[2]) {
    const i32 lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
    const u8 *rows[2]; // this lane's first position in each of the two pages
    UNROLL
    for (i32 i = 0; i < 2; i++)
      rows[i] = pages.pageOfTile(start, i).keys(pages.head, g);
    float s[1][8][4] = {};
    constexpr i32 together = Shape::together;
    _Pragma("unroll together") for (i32 t = 0; t < Shape::kChunks; t++) {
      EightOf<S> keys[8];
      UNROLL
      for (i32 j = 0; j < 8; j++)
        keys[j] = start + 8 * j + g < pages.limit
                      ? load_eight<S>(rows[j / 4] + j % 4 * 8 * Page::rowBytes, 32 * t + 8 * c)
                      : EightOf<S>{};
      u32 first[8][2], second[8][2], a[1][4];
      UNROLL
      for (i32 j = 0; j < 8; j++) {
        const uint4 k = as_bf16(keys[j]);
        first[j][0] = k.x, first[j][1] = k.y, second[j][0] = k.z, second[j][1] = k.w;
      }
      q.fragment(a[0], 2 * t);
      mma_tile(s, a, first);
      q.fragment(a[0], 2 * t + 1);
      mma_tile(s, a, second);
    }
    float kScales[16], vScales[16];
    if constexpr (S::fp8)
      pages.scales(kScales, start, false), pages.scales(vScales, start, true);
    UNROLL
    for (i32 half = 0; half < 2; half++) {
      float most = kNoScore;
      UNROLL
      for (i32 i = 0; i < 16; i++) {
        float &v = s[0][i / 2][2 * half + i % 2];
        const i32 position = start + i / 2 * 8 + 2 * c + i % 2;
        constexpr float log2e = 1.44269504f;
        if constexpr (S::fp8)
          v *= kScales[i];
        if constexpr (S::softcap != 0.0f)
          v = tanh_f32(v * (S::scale / S::softcap)) * (S::softcap * log2e);
        else
          v *= S::scale * log2e;
        const bool seen =
            position <= positionOf[half] && (!S::window || position > positionOf[half] - S::window);
        v = seen ? v : 2.0f * kNoScore;
        most = max_f32(most, v);
      }
      m[half] = warp_max<2, 1>(most);
      float sum = 0.0f;
      UNROLL
      for (i32 i = 0; i < 16; i++) {
        float &v = s[0][i / 2][2 * half + i % 2];
        v = weight_of(v, m[half]);
        sum += v;
        if constexpr (S::fp8)
          v *= vScales[i];
      }
      l[half] = warp_sum<2, 1>(sum);
    }
    UNROLL
    for (i32 i = 0; i < 4; i++) {
      UNROLL
      for (i32 j = 0; j < 4; j++)
        p[i][0][j] = pack_bf16(s[0][2 * i + j / 2][j % 2 * 2], s[0][2 * i + j / 2][j % 2 * 2 + 1]);
    }
  }

  /// Computes o for dimensions 64h … 64h + 63: o[e][v] is row g (+ 8 for v >= 2), dimension
  /// 64h + 16c + 8 (v % 2) + e. values(h, i, j): as in ValuesInPages.
  template <class Values>
  MEMBER void weigh(float (&o)[1][8][4], const Values &values, i32 h) const {
    UNROLL
    for (i32 i = 0; i < 8; i++) {
      UNROLL
      for (i32 v = 0; v < 4; v++)
        o[0][i][v] = 0.0f;
    }
    UNROLL
    for (i32 i = 0; i < 4; i++) {
      u32 at[4][4]; // four positions, eight dimensions each
      UNROLL
      for (i32 j = 0; j < 4; j++) {
        const uint4 v = as_bf16(values(h, i, j));
        at[j][0] = v.x, at[j][1] = v.y, at[j][2] = v.z, at[j][3] = v.w;
      }
      u32 b[8][2];
      UNROLL
      for (i32 e = 0; e < 8; e++) {
        const u32 halves = e % 2 ? 0x7632 : 0x5410;
        b[e][0] = byte_permute(at[0][e / 2], at[1][e / 2], halves);
        b[e][1] = byte_permute(at[2][e / 2], at[3][e / 2], halves);
      }
      mma_tile(o, p[i], b);
    }
  }
};

/// The attention tile of a block, and the KV tiles and chunks that its rows see.
template <class S> struct AttentionWork {
  AttentionTile tile;
  i32 head;
  HeadPages<S> pages;
  i32 firstTile, endTile, firstKvChunk, endKvChunk;

  MEMBER AttentionWork(const BatchView *batch, const u8 *pool, const AttentionTile &tile, i32 head)
      : tile(tile), head(head) {
    pages = {pool, batch->blockTable + tile.sequence * batch->blockTableStride, head,
             tile.firstPosition + tile.tokens, S::window ? tile.firstPosition - S::window + 1 : 0};
    firstTile = pages.first > 0 ? pages.first / kKvTile : 0;
    endTile = divide_up(pages.limit, kKvTile);
    firstKvChunk = firstTile / kChunkTiles;
    endKvChunk = divide_up(endTile, kChunkTiles);
  }
};

/// Called by blocks that have no work. With programmatic launches a grid must not end before the grids
/// launched earlier, so at least one of its blocks must wait. Block 0 does.
DEVICE void leave() {
  if (blockIdx.x == 0)
    pdl_wait();
}
