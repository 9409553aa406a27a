//===- AttentionSplits.h - Splits decode attention over blocks ------------===//
//
// Each prompt tile is handled by one block per KV head (attention_prefill.cuh). The context of a
// decode tile is cut into KV chunks, which several blocks may share (attention_decode.cuh). For each
// step, the host decides from the lengths of all contexts how many blocks a tile gets:
//
//   KV chunks of four sequences   40    3    2    700        745 in all
//   if `shares` is 64, a split has at most ceil(745 / 64) = 12 chunks:
//   splits                         4    1    1     59        longest tile first
//
// So no block has more than one split's part of all chunks, however much the lengths differ. There are
// never more splits than tiles + `shares`, so the grid of a graph can be fixed. A tile with several splits
// needs a workspace slot for each chunk. If the slots left are too few for a tile, one block handles all
// of it; the longest tiles get their slots first. The sums have the same bits whichever block takes a
// chunk.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/schema/engine_generated.h"

#include <span>

namespace ingot::cuda {

constexpr int64_t kChunkPositions = 256; ///< device/attention.cuh

/// Describes how far the kernels of a program can split the KV of decode tiles.
struct AttentionSplitting {
  int64_t shares = 0; ///< splits beyond one per tile, at most kMostSplits; 0: no splitting
  int64_t slots = 0;  ///< KV chunks that the workspace has room for
  int64_t window = 0; ///< largest window of any layer; 0: some layer sees all positions

  static AttentionSplitting of(const fb::Program &program);
};

/// Returns whether tile i is a decode tile: it has one token and is the first tile of its sequence in the
/// step.
bool decodes(std::span<const AttentionTile> tiles, size_t i);

/// Assigns the KV chunks of decode tiles to splits; `to` has room for tiles.size() +
/// sharing.shares. Returns the number of splits.
int64_t assignSplits(std::span<const AttentionTile> tiles, const AttentionSplitting &sharing,
                     AttentionSplit *to);

} // namespace ingot::cuda
