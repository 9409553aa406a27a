//===- attention.cuh - Paged attention --------------------------------------===//
//
// The rows of a block are a tile's tokens x the query heads that share a KV head: row = token *
// group + head. A warp takes 16 rows and a *span* of 64 positions (two pages) at a fixed absolute
// place:
//
//   S = q K^T            mma, q rounded to bf16
//   m = max S, p = 2^(S - m), l = Σ p, o = p V          a span knows nothing of the others
//   (M, L, O) <- merge of (M, L, O) and (m, l, o)        always in order of spans
//
// Since a span stands alone and merging is in order, it does not matter who computes it: in decode
// the warps of a block take spans in turn and merge through shared memory; in prefill a warp walks
// all spans of its rows. Same bits. A span that a row may not see at all merges as nothing.
//
// K and V go from global memory to registers, 16 bytes a load, and neither passes through shared
// memory:
//
//   K   which k of the product a head dimension becomes is free, as long as q agrees: lane (g, c)
//   loads dimensions
//       32t + 8c … + 7 of position 8j + g; the four pairs are b0, b1 of step 2t and b0, b1 of step
//       2t + 1
//   V   which column of the product a dimension becomes is free too: lane (g, c) loads dimensions
//   64h + 8g … + 7 of
//       positions 16i + {2c, 2c+1, 2c+8, 2c+9}; the e-th of the eight is column g of product e, and
//       a pair of positions is put together by a byte permutation
//===----------------------------------------------------------------------===//
#pragma once

#include "batch.cuh"

constexpr i32 kSpan = 64;          ///< positions
constexpr float kNoScore = -1e30f; ///< below any score, finite

/// What the emitter says: struct S { headDim, heads, kvHeads, window (0: none); scale, softcap (0:
/// none); y: type; … }
template <class S> struct AttentionShape {
  static constexpr i32 group = S::heads / S::kvHeads;
  static constexpr i32 kChunks = divide_up(S::headDim, 32), vChunks = divide_up(S::headDim, 64);
  static constexpr i32 pageBytes = round_up(4 * S::kvHeads * S::headDim * kPageTokens, 64);
  static constexpr i32 decodeRows = group < 16 ? group : 16; ///< of a row tile, in shared memory
  static constexpr bool qInRegisters = S::headDim <= 64;
  static constexpr i32 qBytes =
      qInRegisters ? 0 : kChunks * 2 * 512; ///< of 16 rows, in shared memory
};
constexpr i32 kDecodeWarps = 8, kPrefillWarps = 4;
/// Bytes of shared memory.
template <class S> constexpr i32 attention_decode_shared() {
  using Shape = AttentionShape<S>;
  return Shape::qBytes + kDecodeWarps * Shape::decodeRows * (S::headDim + 2) * 4;
}
template <class S> constexpr i32 attention_prefill_shared() {
  return kPrefillWarps * AttentionShape<S>::qBytes;
}

/// Eight 16-bit values from dimension d on; what lies beyond the head is 0.
template <i32 Dim> DEVICE uint4 load_eight(const u16 *row, i32 d) {
  if constexpr (Dim % 8 == 0) {
    return d < Dim ? *(const uint4 *)(row + d) : uint4{0, 0, 0, 0};
  } else {
    u32 w[4];
    UNROLL
    for (i32 i = 0; i < 4; i++) {
      const u32 lo = d + 2 * i < Dim ? row[d + 2 * i] : 0,
                hi = d + 2 * i + 1 < Dim ? row[d + 2 * i + 1] : 0;
      w[i] = lo | hi << 16;
    }
    return uint4{w[0], w[1], w[2], w[3]};
  }
}

/// 16 rows of queries, as A fragments: step 2t + s holds pairs 2s and 2s + 1 of a lane's eight
/// dimensions of chunk t.
template <class S> struct Queries {
  using Shape = AttentionShape<S>;
  u32 registers[Shape::qInRegisters ? 2 * Shape::kChunks : 1][4];
  const uint4 *shared;

  /// Rows rowTile * 16 + … of the tile; lane (g, c) fetches rows g and g + 8. Steps from, from +
  /// by, …
  MEMBER void load(const float *q, const AttentionTile &tile, i32 head, i32 rowTile, uint4 *to,
                   i32 from, i32 by) {
    const i32 lane = threadIdx.x % 32;
    const float *rows[2];
    UNROLL
    for (i32 half = 0; half < 2; half++) {
      const i32 row = rowTile * 16 + lane / 4 + 8 * half;
      rows[half] = row < tile.tokens * Shape::group
                       ? q + (i64)(tile.firstToken + row / Shape::group) * S::qStride +
                             (head * Shape::group + row % Shape::group) * S::headDim
                       : nullptr;
    }
    shared = to;
    UNROLL
    for (i32 step = 0; step < 2 * Shape::kChunks; step++) {
      if (!Shape::qInRegisters && step % by != from)
        continue;
      u32 a[4];
      UNROLL
      for (i32 j = 0; j < 4; j++) {
        const float *row = rows[j % 2];
        const i32 d = step / 2 * 32 + lane % 4 * 8 + step % 2 * 4 + j / 2 * 2;
        a[j] = pack_bf16(row && d < S::headDim ? row[d] : 0.0f,
                         row && d + 1 < S::headDim ? row[d + 1] : 0.0f);
      }
      if constexpr (Shape::qInRegisters) {
        UNROLL
        for (i32 j = 0; j < 4; j++)
          registers[step][j] = a[j];
      } else {
        to[step * 32 + lane] = uint4{a[0], a[1], a[2], a[3]};
      }
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

/// 2^(x - y) without a NaN where both are kNoScore.
DEVICE float weight_of(float x, float y) { return exp2_fast(x - y); }
/// One element of the merge: the total so far and a span, each with its weight.
DEVICE float merged(float total, float weight, float span, float weightOfSpan) {
  return fma_f32(total, weight, span * weightOfSpan);
}

/// The KV head's pages of a sequence.
template <class S> struct HeadPages {
  const u8 *pool;
  const i32 *table;
  i32 head, limit; ///< positions below limit are written

  MEMBER const u16 *keys(i32 position) const {
    const i64 page = table[position / kPageTokens];
    return (const u16 *)(pool + page * AttentionShape<S>::pageBytes) +
           (i64)(head * kPageTokens + position % kPageTokens) * S::headDim;
  }
  MEMBER const u16 *values(i32 position) const {
    return keys(position) + (i64)S::kvHeads * kPageTokens * S::headDim;
  }
};

/// A span of 16 rows: m, l of rows g and g + 8 and, 64 dimensions at a time, o.
template <class S> struct Span {
  using Shape = AttentionShape<S>;
  float m[2], l[2];
  u32 p[4][1][4]; ///< A fragments: 16 rows x 64 positions

  /// positionOf[half]: of the lane's rows; they see start … start + 63 as far as mask and window
  /// let them.
  MEMBER void score(const Queries<S> &q, const HeadPages<S> &pages, i32 start,
                    const i32 (&positionOf)[2]) {
    const i32 lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
    const u16 *rows[2]; // of the two pages, of this lane's first position there
    UNROLL
    for (i32 i = 0; i < 2; i++)
      rows[i] = pages.keys(start + 32 * i < pages.limit ? start + 32 * i : start) + g * S::headDim;
    float s[1][8][4] = {};
    constexpr i32 together =
        S::headDim <= 128 ? Shape::kChunks : 1; // chunks whose loads are under way at once
    _Pragma("unroll together") for (i32 t = 0; t < Shape::kChunks; t++) {
      u32 first[8][2], second[8][2], a[1][4];
      UNROLL
      for (i32 j = 0; j < 8; j++) {
        const uint4 k =
            start + 8 * j + g < pages.limit
                ? load_eight<S::headDim>(rows[j / 4] + j % 4 * 8 * S::headDim, 32 * t + 8 * c)
                : uint4{0, 0, 0, 0};
        first[j][0] = k.x, first[j][1] = k.y, second[j][0] = k.z, second[j][1] = k.w;
      }
      q.fragment(a[0], 2 * t);
      mma_tile(s, a, first);
      q.fragment(a[0], 2 * t + 1);
      mma_tile(s, a, second);
    }
    UNROLL
    for (i32 half = 0; half < 2; half++) {
      float most = kNoScore;
      UNROLL
      for (i32 i = 0; i < 16; i++) {
        float &v = s[0][i / 2][2 * half + i % 2];
        const i32 position = start + i / 2 * 8 + 2 * c + i % 2;
        constexpr float log2e = 1.44269504f;
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

  /// o of dimensions 64h … 64h + 63: o[e][v] is row g (+ 8 for v >= 2), dimension 64h + 16c + 8 (v
  /// % 2) + e.
  MEMBER void weigh(float (&o)[1][8][4], const HeadPages<S> &pages, i32 start, i32 h) const {
    const i32 lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
    UNROLL
    for (i32 i = 0; i < 8; i++) {
      UNROLL
      for (i32 v = 0; v < 4; v++)
        o[0][i][v] = 0.0f;
    }
    const u16 *rows[2];
    UNROLL
    for (i32 i = 0; i < 2; i++)
      rows[i] = pages.values(start + 32 * i < pages.limit ? start + 32 * i : start);
    UNROLL
    for (i32 i = 0; i < 4; i++) {
      u32 at[4][4]; // of four positions, eight dimensions each
      UNROLL
      for (i32 j = 0; j < 4; j++) {
        const i32 in = 16 * i + 2 * c + j % 2 + j / 2 * 8;
        const uint4 v =
            start + in < pages.limit
                ? load_eight<S::headDim>(rows[i / 2] + in % 32 * S::headDim, 64 * h + 8 * g)
                : uint4{0, 0, 0, 0};
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

/// The tile of a block, and the spans that its rows see.
template <class S> struct AttentionWork {
  AttentionTile tile;
  i32 head;
  HeadPages<S> pages;
  i32 firstSpan, endSpan;

  MEMBER AttentionWork(const BatchView *batch, const u8 *pool, i32 item) {
    tile = batch->attentionTiles[item / S::kvHeads];
    head = item % S::kvHeads;
    const i32 end = tile.firstPosition + tile.tokens,
              from = S::window ? tile.firstPosition - S::window + 1 : 0;
    pages = {pool, batch->blockTable + tile.sequence * batch->blockTableStride, head, end};
    firstSpan = from > 0 ? from / kSpan : 0;
    endSpan = divide_up(end, kSpan);
  }
};

/// One token a tile. Warps take spans in turn and write them to shared memory; threads own elements
/// of the total.
template <class S, class Y>
DEVICE void attention_decode(const float *q, const u8 *pool, Y *y, const BatchView *batch,
                             u8 *shared) {
  using Shape = AttentionShape<S>;
  constexpr i32 threads = 32 * kDecodeWarps, rows = Shape::decodeRows,
                elements = divide_up(rows * S::headDim, threads);
  const i32 thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  pdl_wait();
  if (blockIdx.x >= batch->tiles * S::kvHeads)
    return;
  const AttentionWork<S> work(batch, pool, blockIdx.x);
  float *const os = (float *)(shared + Shape::qBytes); // [warp][row][headDim]
  float *const ms = os + kDecodeWarps * rows * S::headDim, *const ls = ms + kDecodeWarps * rows;

  const i32 rowsOfTile = work.tile.tokens * Shape::group;
  for (i32 rowTile = 0; rowTile * 16 < rowsOfTile; rowTile++) {
    Queries<S> queries;
    queries.load(q, work.tile, work.head, rowTile, (uint4 *)shared, warp, kDecodeWarps);
    if constexpr (!Shape::qInRegisters)
      sync_block();
    i32 positionOf[2];
    UNROLL
    for (i32 half = 0; half < 2; half++)
      positionOf[half] =
          work.tile.firstPosition + (rowTile * 16 + lane / 4 + 8 * half) / Shape::group;
    float total[elements] = {}, most[elements], sum[elements] = {};
    UNROLL
    for (i32 e = 0; e < elements; e++)
      most[e] = kNoScore;

    NO_UNROLL
    for (i32 from = work.firstSpan; from < work.endSpan; from += kDecodeWarps) {
      if (from + warp < work.endSpan) {
        Span<S> span;
        span.score(queries, work.pages, (from + warp) * kSpan, positionOf);
        UNROLL
        for (i32 half = 0; half < 2; half++) {
          const i32 row = lane / 4 + 8 * half;
          if (row < rows && lane % 4 == 0)
            ms[warp * rows + row] = span.m[half], ls[warp * rows + row] = span.l[half];
        }
        UNROLL
        for (i32 h = 0; h < Shape::vChunks; h++) {
          float o[1][8][4];
          span.weigh(o, work.pages, (from + warp) * kSpan, h);
          UNROLL
          for (i32 v = 0; v < 4; v++) {
            UNROLL
            for (i32 e = 0; e < 8; e++) {
              const i32 row = lane / 4 + v / 2 * 8, d = 64 * h + 16 * (lane % 4) + 8 * (v % 2) + e;
              if (row < rows && d < S::headDim)
                os[(warp * rows + row) * S::headDim + d] = o[0][e][v];
            }
          }
        }
      }
      sync_block();
      UNROLL
      for (i32 e = 0; e < elements; e++) {
        const i32 at = thread + e * threads, row = at / S::headDim;
        if (at >= rows * S::headDim)
          continue;
        for (i32 w = 0; w < kDecodeWarps && from + w < work.endSpan; w++) {
          const float m = ms[w * rows + row], higher = max_f32(most[e], m);
          const float weight = weight_of(most[e], higher), weightOfSpan = weight_of(m, higher);
          total[e] = merged(total[e], weight, os[w * rows * S::headDim + at], weightOfSpan);
          sum[e] = merged(sum[e], weight, ls[w * rows + row], weightOfSpan);
          most[e] = higher;
        }
      }
      sync_block();
    }
    UNROLL
    for (i32 e = 0; e < elements; e++) {
      const i32 at = thread + e * threads, row = rowTile * 16 + at / S::headDim;
      if (at >= rows * S::headDim || row >= rowsOfTile)
        continue;
      const i32 token = work.tile.firstToken + row / Shape::group,
                head = work.head * Shape::group + row % Shape::group;
      S::store(y, token, head * S::headDim + at % S::headDim, div_f32(total[e], sum[e]));
    }
  }
  if (work.head == S::kvHeads - 1)
    S::pad(y, work.tile.firstToken, work.tile.firstToken + work.tile.tokens);
}

/// Any tile: each warp walks all spans of 16 rows.
template <class S, class Y>
DEVICE void attention_prefill(const float *q, const u8 *pool, Y *y, const BatchView *batch,
                              u8 *shared) {
  using Shape = AttentionShape<S>;
  const i32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  pdl_wait();
  if (blockIdx.x >= batch->tiles * S::kvHeads)
    return;
  const AttentionWork<S> work(batch, pool, blockIdx.x);
  // Wide heads: an item is 16 rows and 128 dimensions of V; its scores are computed again for each.
  constexpr i32 parts = divide_up(Shape::vChunks, 2), chunks = Shape::vChunks < 2 ? 1 : 2;
  const i32 items = divide_up(work.tile.tokens * Shape::group, 16) * parts;
  NO_UNROLL
  for (i32 item = warp; item < items; item += kPrefillWarps) {
    const i32 rowTile = item / parts, firstChunk = item % parts * 2;
    Queries<S> queries;
    queries.load(q, work.tile, work.head, rowTile, (uint4 *)(shared + warp * Shape::qBytes), 0, 1);
    if constexpr (!Shape::qInRegisters)
      sync_warp();
    i32 positionOf[2];
    UNROLL
    for (i32 half = 0; half < 2; half++)
      positionOf[half] =
          work.tile.firstPosition + (rowTile * 16 + lane / 4 + 8 * half) / Shape::group;
    float total[chunks][8][4] = {}, most[2] = {kNoScore, kNoScore}, sum[2] = {};
    NO_UNROLL
    for (i32 at = work.firstSpan; at < work.endSpan; at++) {
      Span<S> span;
      span.score(queries, work.pages, at * kSpan, positionOf);
      float weight[2], weightOfSpan[2];
      UNROLL
      for (i32 half = 0; half < 2; half++) {
        const float higher = max_f32(most[half], span.m[half]);
        weight[half] = weight_of(most[half], higher),
        weightOfSpan[half] = weight_of(span.m[half], higher);
        sum[half] = merged(sum[half], weight[half], span.l[half], weightOfSpan[half]);
        most[half] = higher;
      }
      UNROLL
      for (i32 h = 0; h < chunks; h++) {
        float o[1][8][4];
        span.weigh(o, work.pages, at * kSpan, firstChunk + h);
        UNROLL
        for (i32 e = 0; e < 8; e++) {
          UNROLL
          for (i32 v = 0; v < 4; v++)
            total[h][e][v] = merged(total[h][e][v], weight[v / 2], o[0][e][v], weightOfSpan[v / 2]);
        }
      }
    }
    UNROLL
    for (i32 half = 0; half < 2; half++) {
      const i32 row = rowTile * 16 + lane / 4 + 8 * half;
      if (row >= work.tile.tokens * Shape::group)
        continue;
      const i32 token = work.tile.firstToken + row / Shape::group,
                head = work.head * Shape::group + row % Shape::group;
      UNROLL
      for (i32 h = 0; h < chunks; h++) {
        UNROLL
        for (i32 i = 0; i < 16; i++) {
          const i32 d = 64 * (firstChunk + h) + 16 * (lane % 4) + i;
          if (d < S::headDim)
            S::store(y, token, head * S::headDim + d,
                     div_f32(total[h][i % 8][2 * half + i / 8], sum[half]));
        }
      }
    }
    if constexpr (!Shape::qInRegisters)
      sync_warp();
  }
  if (work.head == S::kvHeads - 1)
    S::pad(y, work.tile.firstToken, work.tile.firstToken + work.tile.tokens);
}
