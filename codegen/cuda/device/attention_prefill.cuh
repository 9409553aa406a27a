//===- attention_prefill.cuh - Attention for prompt tiles --------------------===//
//
// A block takes an attention tile of any size and a KV head. Each warp takes 16 rows and iterates over
// all their KV tiles. The sum of the current KV chunk is in registers. The sum of the chunks before it
// is in shared memory, which is accessed once per 256 positions.
//===----------------------------------------------------------------------===//
#pragma once

#include "attention.cuh"

constexpr i32 kPrefillWarps = 4;

template <class S> struct PrefillShape {
  /// For wide heads a work item is 16 rows and 128 dimensions of V, or 64 dimensions if the head's width
  /// is not a multiple of 64 (bounds checks take registers). Each item computes the scores again.
  static constexpr i32 chunks = AttentionShape<S>::vChunks < 2 || S::headDim % 64 != 0 ? 1 : 2,
                       parts = divide_up(AttentionShape<S>::vChunks, chunks);
  static constexpr i32 totalsAt = AttentionShape<S>::qBytes, totalFloats = chunks * 32 * 32,
                       warpBytes = totalsAt + totalFloats * 4;
};
/// Returns the size in bytes of shared memory.
template <class S> constexpr i32 attention_prefill_shared() {
  return kPrefillWarps * PrefillShape<S>::warpBytes;
}

template <class S, class Y>
DEVICE void attention_prefill(const float *q, const u8 *pool, Y *y, const float *sinks,
                              const BatchView *batch, u8 *shared) {
  using Shape = AttentionShape<S>;
  constexpr i32 parts = PrefillShape<S>::parts, chunks = PrefillShape<S>::chunks;
  const i32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const i32 item = blockIdx.x; // signed: the register count of the main loop depends on it
  if (item >= batch->promptTiles * S::kvHeads) {
    leave();
    return;
  }
  const AttentionWork<S> work(batch, pool, batch->attentionTiles[item / S::kvHeads],
                              item % S::kvHeads);
  pdl_wait();
  u8 *const mine = shared + warp * PrefillShape<S>::warpBytes;
  float *const total =
      (float *)(mine + PrefillShape<S>::totalsAt) + lane; // [chunks * 32], 32 apart
  const i32 items = divide_up(work.tile.tokens * Shape::group, 16) * parts;
  NO_UNROLL
  for (i32 part = warp; part < items; part += kPrefillWarps) {
    const i32 rowTile = part / parts, firstChunk = part % parts * chunks;
    Queries<S> queries;
    queries.load(q, work.tile, work.head, rowTile * 16, (uint4 *)mine, 0, 1);
    if constexpr (!Shape::qInRegisters)
      sync_warp();
    i32 positionOf[2];
    UNROLL
    for (i32 half = 0; half < 2; half++)
      positionOf[half] =
          work.tile.firstPosition + (rowTile * 16 + lane / 4 + 8 * half) / Shape::group;
    float most[2] = {kNoScore, kNoScore}, sum[2] = {};
    float ofChunk[chunks][8][4] = {}, mostOfChunk[2] = {kNoScore, kNoScore}, sumOfChunk[2] = {};
    NO_UNROLL
    for (i32 at = work.firstTile; at < work.endTile; at++) {
      KvTile<S> kvTile;
      kvTile.score(queries, work.pages, at * kKvTile, positionOf);
      float weight[2], weightOfPart[2];
      UNROLL
      for (i32 half = 0; half < 2; half++) {
        const float higher = max_f32(mostOfChunk[half], kvTile.m[half]);
        weight[half] = weight_of(mostOfChunk[half], higher);
        weightOfPart[half] = weight_of(kvTile.m[half], higher);
        sumOfChunk[half] =
            merged(sumOfChunk[half], weight[half], kvTile.l[half], weightOfPart[half]);
        mostOfChunk[half] = higher;
      }
      const ValuesInPages<S> values(work.pages, at * kKvTile);
      UNROLL
      for (i32 h = 0; h < chunks; h++) {
        float o[1][8][4];
        kvTile.weigh(o, values, firstChunk + h);
        UNROLL
        for (i32 e = 0; e < 8; e++) {
          UNROLL
          for (i32 v = 0; v < 4; v++)
            ofChunk[h][e][v] =
                merged(ofChunk[h][e][v], weight[v / 2], o[0][e][v], weightOfPart[v / 2]);
        }
      }
      if (at % kChunkTiles != kChunkTiles - 1 && at != work.endTile - 1)
        continue;
      UNROLL
      for (i32 half = 0; half < 2; half++) {
        const float higher = max_f32(most[half], mostOfChunk[half]);
        weight[half] = weight_of(most[half], higher);
        weightOfPart[half] = weight_of(mostOfChunk[half], higher);
        sum[half] = merged(sum[half], weight[half], sumOfChunk[half], weightOfPart[half]);
        most[half] = higher, mostOfChunk[half] = kNoScore, sumOfChunk[half] = 0.0f;
      }
      const bool first = at / kChunkTiles == work.firstKvChunk;
      UNROLL
      for (i32 i = 0; i < chunks * 32; i++) {
        float &part = ofChunk[i / 32][i / 4 % 8][i % 4];
        total[32 * i] =
            merged(first ? 0.0f : total[32 * i], weight[i % 4 / 2], part, weightOfPart[i % 4 / 2]);
        part = 0.0f;
      }
    }
    UNROLL
    for (i32 half = 0; half < 2; half++) {
      const i32 row = rowTile * 16 + lane / 4 + 8 * half;
      if (row >= work.tile.tokens * Shape::group)
        continue;
      const i32 token = work.tile.firstToken + row / Shape::group,
                head = work.head * Shape::group + row % Shape::group;
      const float ofTotal = add_sink<S>(sinks, head, most[half], sum[half]);
      UNROLL // eight adjacent dimensions at a time, of a lane's sixteen
      for (i32 eight = 0; eight < 2 * chunks; eight++) {
        const i32 first = 64 * firstChunk + eight / 2 * 64 + 16 * (lane % 4) + eight % 2 * 8;
        const float *const from = total + 32 * (eight / 2 * 32 + 2 * half + eight % 2);
        auto value = [&](i32 i) { return div_f32(from[32 * 4 * i] * ofTotal, sum[half]); };
        if constexpr (S::packs) {
          if (first < S::headDim)
            st_whole((uint4 *)(y + (i64)token * S::yStride + head * S::headDim + first),
                     uint4{pack_bf16(value(0), value(1)), pack_bf16(value(2), value(3)),
                           pack_bf16(value(4), value(5)), pack_bf16(value(6), value(7))});
        } else {
          UNROLL
          for (i32 i = 0; i < 8; i++)
            if (first + i < S::headDim)
              S::store(y, token, head * S::headDim + first + i, value(i));
        }
      }
    }
    if constexpr (!Shape::qInRegisters)
      sync_warp();
  }
  if (work.head == S::kvHeads - 1)
    S::pad(y, work.tile.firstToken, work.tile.firstToken + work.tile.tokens);
}
