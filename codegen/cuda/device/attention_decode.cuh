//===- attention_decode.cuh - Attention for one token per sequence -----------===//
//
// The four warps of a block take the four KV tiles of a KV chunk; then each thread owns elements of
// the output and merges the KV tiles. A block takes a split (BatchView::splits) of a token's chunks for
// one KV head: all of them, or some, as the host has assigned them for this step
// (runtime/device/cuda/AttentionSplits.h):
//
//   split     0      1      2      …  as many as the attention tile has
//   chunk     0      1      2      …  assigned round-robin; a split without a chunk exits at once
//               \    |    /
//   workspace  (m, l, o) of each chunk, in its slot    the last block to arrive merges all, in
//                                                      order
//
// A slot holds the result of one chunk, never the sum of a block. The bits therefore equal the bits of every other
// variant, however the chunks are assigned. Because chunks are assigned round-robin and not in contiguous ranges,
// layers with a window can use the same list of splits: the few chunks of the window are also spread over as many
// blocks as possible.
//
// Loads in flight: V of a KV tile is copied to shared memory by cp.async. Each lane copies the data
// that it reads itself, so no barrier is needed. K is prefetched into L2 and loaded to registers. Both
// are requested before either is used: 32 KB per warp for bf16 heads of 128, with 8 warps per
// multiprocessor. The next chunk is requested as soon as this one has been used. If earlier steps wrote all positions
// of a chunk, it is requested before pdl_wait.
//===----------------------------------------------------------------------===//
#pragma once

#include "attention.cuh"

constexpr i32 kDecodeWarps = kChunkTiles, kDecodeThreads = 32 * kDecodeWarps;
/// The number of KV chunks of split tiles, each with all KV heads, that the workspace holds: 1,048,576
/// positions.
constexpr i32 kSharedSlots = 4096;
/// Counters at the start of the workspace, one for each (split tile, KV head).
constexpr i32 kSharedCounters = 1024;
constexpr i32 kSlotsAtOnce = 32; ///< slots merged between two barriers

template <class S> struct DecodeShape {
  static constexpr i32 group = AttentionShape<S>::group;
  static constexpr i32 rows = group < 16 ? group : 16; ///< rows that are processed at once
  /// Elements of these rows per thread.
  static constexpr i32 elements = divide_up(rows * S::headDim, kDecodeThreads);
  static constexpr i32 tilesBytes = kChunkTiles * rows * (S::headDim + 2) * 4,
                       weightsBytes = rows * (kChunkTiles + 1) * 8;
  /// Bytes of V of a warp's KV tile: each lane has sixteen vectors of eight values per 64 dimensions. V
  /// is read directly from its pages if the block would not fit 99 KB with these bytes (wide heads,
  /// large groups), or if vectors are not aligned.
  static constexpr i32 stageBytes = AttentionShape<S>::vChunks * 16 * 32 * (S::fp8 ? 8 : 16),
                       stagedBytes = AttentionShape<S>::qBytes + kDecodeWarps * stageBytes +
                                     tilesBytes + weightsBytes;
  static constexpr bool staged = S::headDim % 8 == 0 && stagedBytes <= 99 * 1024;
  static constexpr i32 stagesAt = AttentionShape<S>::qBytes,
                       tilesAt = stagesAt + (staged ? kDecodeWarps * stageBytes : 0),
                       weightsAt = tilesAt + tilesBytes, aloneBytes = weightsAt + weightsBytes,
                       mergeBytes = group * (4 * kSlotsAtOnce + 1) * 4;
};
/// Returns the size in bytes of shared memory.
template <class S> constexpr i32 attention_decode_shared() {
  return DecodeShape<S>::aloneBytes > DecodeShape<S>::mergeBytes ? DecodeShape<S>::aloneBytes
                                                                 : DecodeShape<S>::mergeBytes;
}

/// V of a KV tile in shared memory. A lane reads only vectors that it copied itself.
template <class S> struct ValuesInStage {
  EightOf<S> *lane; ///< this lane's vectors, 32 apart

  MEMBER ValuesInStage(u8 *shared)
      : lane((EightOf<S> *)(shared + DecodeShape<S>::stagesAt +
                            threadIdx.x / 32 * DecodeShape<S>::stageBytes) +
             threadIdx.x % 32) {}
  MEMBER EightOf<S> operator()(i32 h, i32 i, i32 j) const {
    return lane[((h * 4 + i) * 4 + j) * 32];
  }

  MEMBER void fetch(const HeadPages<S> &pages, i32 start) const {
    constexpr u32 size = sizeof(EightOf<S>);
    const ValuesInPages<S> from(pages, start);
    NO_UNROLL
    for (i32 h = 0; h < AttentionShape<S>::vChunks; h++) {
      const i32 d = 64 * h + 8 * (threadIdx.x % 32 / 4);
      NO_UNROLL
      for (i32 i = 0; i < 4; i++) {
        UNROLL
        for (i32 j = 0; j < 4; j++) {
          const bool there = from.sees(i, j) && d < S::headDim;
          const u8 *source = from.row(i, j) + (there ? d * (i32)size / 8 : 0);
          EightOf<S> *to = lane + ((h * 4 + i) * 4 + j) * 32;
          if constexpr (S::fp8)
            cp_async8(to, source, there ? size : 0);
          else
            cp_async16(to, source, there ? size : 0);
        }
      }
    }
    cp_async_commit();
  }
};

/// The shared memory of a block, and the work between barriers.
template <class S> struct DecodeBlock {
  using Shape = DecodeShape<S>;
  static constexpr i32 rows = Shape::rows;

  u8 *shared;
  float *os, *ms, *ls; ///< of a chunk's KV tiles: [kChunkTiles][rows][headDim], [kChunkTiles][rows]
  float2 *weights;     ///< [rows][kChunkTiles]: weights of the chunk so far and of the KV tile
  float2 *ofChunk;     ///< [rows]: weights of the total so far and of the chunk

  MEMBER DecodeBlock(u8 *shared)
      : shared(shared), os((float *)(shared + Shape::tilesAt)),
        ms(os + kChunkTiles * rows * S::headDim), ls(ms + kChunkTiles * rows),
        weights((float2 *)(shared + Shape::weightsAt)), ofChunk(weights + rows * kChunkTiles) {}

  static MEMBER i32 tileOf(i32 chunk) { return chunk * kChunkTiles + (i32)threadIdx.x / 32; }
  static MEMBER bool sees(const AttentionWork<S> &work, i32 chunk) {
    return chunk < work.endKvChunk && tileOf(chunk) >= work.firstTile &&
           tileOf(chunk) < work.endTile;
  }
  /// Requests this warp's KV tile of a chunk: V into shared memory, the rest into L2.
  MEMBER void fetch(const AttentionWork<S> &work, i32 chunk) const {
    if (!sees(work, chunk))
      return;
    const i32 start = tileOf(chunk) * kKvTile;
    if constexpr (Shape::staged)
      ValuesInStage<S>(shared).fetch(work.pages, start);
    UNROLL
    for (i32 i = 0; i < 2; i++) {
      const auto page = work.pages.pageOfTile(start, i);
      for (i32 at = threadIdx.x % 32 * 128; at < page.headBytes; at += 32 * 128)
        prefetch_l2(page.keys(work.head, 0) + at);
      if constexpr (S::fp8)
        if (threadIdx.x % 32 < 2)
          prefetch_l2(threadIdx.x % 32 ? page.valueScale(work.head, 0)
                                       : page.keyScale(work.head, 0));
    }
  }
  /// Computes the KV tile that `fetch` requested, into `os`, `ms` and `ls`.
  MEMBER void computeTile(const AttentionWork<S> &work, const Queries<S> &queries,
                          const i32 (&positionOf)[2], i32 chunk) const {
    const i32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, start = tileOf(chunk) * kKvTile;
    if (!sees(work, chunk))
      return;
    KvTile<S> kvTile;
    kvTile.score(queries, work.pages, start, positionOf);
    UNROLL
    for (i32 half = 0; half < 2; half++) {
      const i32 row = lane / 4 + 8 * half;
      if (row < rows && lane % 4 == 0)
        ms[warp * rows + row] = kvTile.m[half], ls[warp * rows + row] = kvTile.l[half];
    }
    if constexpr (Shape::staged)
      cp_async_wait<0>();
    UNROLL
    for (i32 h = 0; h < AttentionShape<S>::vChunks; h++) {
      float o[1][8][4];
      if constexpr (Shape::staged)
        kvTile.weigh(o, ValuesInStage<S>(shared), h);
      else
        kvTile.weigh(o, ValuesInPages<S>(work.pages, start), h);
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
  /// Computes m and l of a row's chunk and the weights of KV tiles from … end - 1 of its four.
  MEMBER void mergeRow(i32 row, i32 from, i32 end, float &most, float &sum) const {
    most = kNoScore, sum = 0.0f;
    for (i32 i = from; i < end; i++) {
      const float m = ms[i * rows + row], higher = max_f32(most, m);
      const float2 weight{weight_of(most, higher), weight_of(m, higher)};
      weights[row * kChunkTiles + i] = weight;
      sum = merged(sum, weight.x, ls[i * rows + row], weight.y);
      most = higher;
    }
  }
  /// Returns an element of o of the chunk; `at`: row * headDim + d.
  MEMBER float mergedElement(i32 at, i32 from, i32 end) const {
    const float2 *weight = weights + at / S::headDim * kChunkTiles;
    float o = 0.0f;
    UNROLL
    for (i32 i = 0; i < kChunkTiles; i++)
      if (i >= from && i < end)
        o = merged(o, weight[i].x, os[i * rows * S::headDim + at], weight[i].y);
    return o;
  }
};

/// Sets `from` and `end` so that the attention tile sees KV tiles from … end - 1 of the chunk's four.
template <class S>
DEVICE void tiles_of_chunk(const AttentionWork<S> &work, i32 chunk, i32 &from, i32 &end) {
  from = work.firstTile - chunk * kChunkTiles, end = work.endTile - chunk * kChunkTiles;
  from = from > 0 ? from : 0, end = end < kChunkTiles ? end : kChunkTiles;
}

/// Stores an element of the output; row: a head of the group.
template <class S, class Y>
DEVICE void store_element(const AttentionWork<S> &work, Y *y, i32 row, i32 d, float total,
                          float sum) {
  S::store(y, work.tile.firstToken, (work.head * AttentionShape<S>::group + row) * S::headDim + d,
           div_f32(total, sum));
}
template <class S, class Y> DEVICE void store_padding(const AttentionWork<S> &work, Y *y) {
  if (work.head == S::kvHeads - 1)
    S::pad(y, work.tile.firstToken, work.tile.firstToken + 1);
}

/// The workspace, in device memory, of attention tiles that several blocks split. Its counters are 0
/// between launches.
template <class S> struct SharedWorkspace {
  static constexpr i32 group = AttentionShape<S>::group,
                       slotFloats = round_up(group * (S::headDim + 2), 4);
  static constexpr i64 bytes =
      4 * kSharedCounters + (i64)kSharedSlots * S::kvHeads * slotFloats * 4;

  u32 *counter;
  float *slots; ///< [chunk of the tile][kvHeads]: o[group][headDim], m[group], l[group]

  MEMBER SharedWorkspace(u8 *memory, const AttentionSplit &split, i32 head)
      : counter((u32 *)memory + split.counter * S::kvHeads + head),
        slots((float *)(memory + 4 * kSharedCounters) +
              ((i64)split.slot * S::kvHeads + head) * slotFloats) {}
  MEMBER float *o(i32 slot) const { return slots + (i64)slot * (S::kvHeads * slotFloats); }
  MEMBER float *m(i32 slot) const { return o(slot) + group * S::headDim; }
  MEMBER float *l(i32 slot) const { return m(slot) + group; }
};

/// Computes KV chunks first, first + by, … of an attention tile with one block. `fetched`: the first
/// chunk has already been requested. The block either has all chunks and stores their total, or stores
/// each chunk to its slot (`toSlots`).
template <class S, class Y>
DEVICE void attend(const AttentionWork<S> &work, const float *q, Y *y, const float *sinks,
                   u8 *shared, i32 first, i32 by, bool fetched, bool toSlots,
                   const SharedWorkspace<S> &workspace) {
  using Shape = DecodeShape<S>;
  constexpr i32 rows = Shape::rows, group = Shape::group;
  const DecodeBlock<S> block(shared);
  const i32 thread = threadIdx.x, position = work.tile.firstPosition,
            positionOf[2] = {position, position};
  if (!fetched)
    block.fetch(work, first);
  NO_UNROLL
  for (i32 firstRow = 0; firstRow < group; firstRow += rows) {
    Queries<S> queries;
    queries.load(q, work.tile, work.head, firstRow, (uint4 *)shared, thread / 32, kDecodeWarps);
    if constexpr (!AttentionShape<S>::qInRegisters)
      sync_block();
    float total[Shape::elements] = {}, most = kNoScore, sum = 0.0f; // most, sum: of row `thread`
    const bool lastRows = firstRow + rows >= group;
    NO_UNROLL
    for (i32 chunk = first; chunk < work.endKvChunk; chunk += by) {
      block.computeTile(work, queries, positionOf, chunk);
      // The next rows start again at the first chunk.
      block.fetch(work, chunk + by < work.endKvChunk || lastRows ? chunk + by : first);
      sync_block();
      i32 from, end;
      tiles_of_chunk(work, chunk, from, end);
      const i32 slot = chunk - work.firstKvChunk;
      if (thread < rows) {
        float mostOfChunk, sumOfChunk;
        block.mergeRow(thread, from, end, mostOfChunk, sumOfChunk);
        if (toSlots && firstRow + thread < group) {
          workspace.m(slot)[firstRow + thread] = mostOfChunk;
          workspace.l(slot)[firstRow + thread] = sumOfChunk;
        }
        const float higher = max_f32(most, mostOfChunk);
        const float2 weight{weight_of(most, higher), weight_of(mostOfChunk, higher)};
        sum = merged(sum, weight.x, sumOfChunk, weight.y);
        most = higher;
        block.ofChunk[thread] = weight;
      }
      sync_block();
      UNROLL
      for (i32 e = 0; e < Shape::elements; e++) {
        const i32 at = thread + e * kDecodeThreads, row = at / S::headDim;
        if (at >= rows * S::headDim || firstRow + row >= group)
          continue;
        const float o = block.mergedElement(at, from, end);
        const float2 weight = block.ofChunk[row];
        if (toSlots)
          workspace.o(slot)[firstRow * S::headDim + at] = o;
        else
          total[e] = merged(total[e], weight.x, o, weight.y);
      }
      sync_block();
    }
    if (toSlots)
      continue;
    if (thread < rows) {
      const i32 row = firstRow + thread < group ? firstRow + thread : 0;
      block.ofChunk[thread].y = add_sink<S>(sinks, work.head * group + row, most, sum);
      block.ofChunk[thread].x = sum;
    }
    sync_block();
    UNROLL
    for (i32 e = 0; e < Shape::elements; e++) {
      const i32 at = thread + e * kDecodeThreads, row = at / S::headDim;
      if (at < rows * S::headDim && firstRow + row < group)
        store_element(work, y, firstRow + row, at % S::headDim, total[e] * block.ofChunk[row].y,
                      block.ofChunk[row].x);
    }
    sync_block();
  }
  if (!toSlots)
    store_padding(work, y);
}

/// Requests this warp's KV tile of a chunk before pdl_wait, if earlier steps wrote the whole chunk.
/// Returns whether it did.
template <class S> DEVICE bool fetch_early(const AttentionWork<S> &work, i32 chunk, u8 *shared) {
  if ((chunk + 1) * kChunkTiles * kKvTile > work.tile.firstPosition)
    return false;
  DecodeBlock<S>(shared).fetch(work, chunk);
  return true;
}

/// Merges the KV chunks of an attention tile from their slots and stores the outputs. It takes 32 slots
/// at a time: first each warp computes the weights of a row (a scan gives the running maximum), then
/// each thread merges four elements.
template <class S, class Y>
DEVICE void merge_slots(const AttentionWork<S> &work, const SharedWorkspace<S> &workspace, Y *y,
                        const float *sinks, u8 *shared) {
  constexpr i32 group = AttentionShape<S>::group, vector = S::headDim % 4 == 0 ? 4 : 1,
                vectors = divide_up(group * S::headDim / vector, kDecodeThreads);
  float4 *const weights =
      (float4 *)shared; // [group][kSlotsAtOnce]: weight of the total so far, of the slot, l
  float *const mostBefore = (float *)(weights + group * kSlotsAtOnce); // [group]
  const i32 thread = threadIdx.x, lane = thread % 32, warp = thread / 32,
            chunks = work.endKvChunk - work.firstKvChunk;
  float total[vectors][vector] = {}, sum[vectors] = {};
  NO_UNROLL
  for (i32 from = 0; from < chunks; from += kSlotsAtOnce) {
    const i32 count = chunks - from < kSlotsAtOnce ? chunks - from : kSlotsAtOnce;
    NO_UNROLL
    for (i32 row = warp; row < group; row += kDecodeWarps) {
      const float before = from ? mostBefore[row] : kNoScore;
      const float m = lane < count ? workspace.m(from + lane)[row] : kNoScore,
                  l = lane < count ? workspace.l(from + lane)[row] : 0.0f;
      float most = max_f32(before, m);
      UNROLL
      for (i32 distance = 1; distance < 32; distance *= 2) {
        const float other = shfl_up(most, distance);
        most = lane >= distance ? max_f32(most, other) : most;
      }
      float previous = shfl_up(most, 1);
      previous = lane ? previous : before;
      weights[row * kSlotsAtOnce + lane] =
          float4{weight_of(previous, most), weight_of(m, most), l, 0.0f};
      if (lane == 31)
        mostBefore[row] = most;
    }
    sync_block();
    UNROLL
    for (i32 v = 0; v < vectors; v++) {
      const i32 at = (thread + v * kDecodeThreads) * vector;
      if (at >= group * S::headDim)
        continue;
      const float4 *ofRow = weights + at / S::headDim * kSlotsAtOnce;
      _Pragma("unroll 8") for (i32 i = 0; i < count; i++) {
        float o[vector];
        if constexpr (vector == 4) {
          const float4 four = *(const float4 *)(workspace.o(from + i) + at);
          o[0] = four.x, o[1] = four.y, o[2] = four.z, o[3] = four.w;
        } else {
          o[0] = workspace.o(from + i)[at];
        }
        const float4 weight = ofRow[i];
        UNROLL
        for (i32 e = 0; e < vector; e++)
          total[v][e] = merged(total[v][e], weight.x, o[e], weight.y);
        sum[v] = merged(sum[v], weight.x, weight.z, weight.y);
      }
    }
    sync_block();
  }
  UNROLL
  for (i32 v = 0; v < vectors; v++) {
    const i32 at = (thread + v * kDecodeThreads) * vector;
    if (at >= group * S::headDim)
      continue;
    const i32 row = at / S::headDim;
    const float ofTotal = add_sink<S>(sinks, work.head * group + row, mostBefore[row], sum[v]);
    UNROLL
    for (i32 e = 0; e < vector; e++)
      store_element(work, y, row, at % S::headDim + e, total[v][e] * ofTotal, sum[v]);
  }
  store_padding(work, y);
}

/// Attention over decode tiles. The grid has one block for each KV head of each split.
template <class S, class Y>
DEVICE void attention_decode(const float *q, const u8 *pool, Y *y, const float *sinks, u8 *memory,
                             const BatchView *batch, u8 *shared, u32 (&arrived)[1]) {
  const i32 item = blockIdx.x / S::kvHeads, head = blockIdx.x % S::kvHeads;
  if (item >= batch->splitCount) {
    leave();
    return;
  }
  const AttentionSplit split = batch->splits[item];
  const AttentionWork<S> work(batch, pool, {split.token, 1, split.sequence, split.position}, head);
  const i32 chunks = work.endKvChunk - work.firstKvChunk;
  const i32 blocks = !S::shares ? 1 : split.of < chunks ? split.of : chunks;
  if (split.index >= blocks) // never true for the first split
    return;
  const i32 first = work.firstKvChunk + split.index;
  const bool fetched = fetch_early(work, first, shared);
  pdl_wait();
  const bool alone = blocks == 1;
  const SharedWorkspace<S> workspace(memory, split, head);
  attend(work, q, y, sinks, shared, first, blocks, fetched, !alone, workspace);
  if (alone)
    return;
  // The barrier at the end of `attend` orders the block's writes. The counter releases them, and acquires the writes of
  // the blocks that arrived earlier.
  if (threadIdx.x == 0)
    arrived[0] = add_acq_rel(workspace.counter, 1);
  sync_block();
  if (arrived[0] != (u32)blocks - 1)
    return;
  if (threadIdx.x == 0)
    *workspace.counter = 0; // for the next launch
  merge_slots(work, workspace, y, sinks, shared);
}
