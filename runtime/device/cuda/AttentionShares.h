//===- AttentionShares.h - Who attends to what in a step ---------------------===//
//
// Tiles of prompts are a block's for each KV head (attention_prefill.cuh). Tiles that decode are
// cut into runs of positions, which blocks take (attention_decode.cuh): how many blocks a tile gets
// is what the host decides, for each step, from the lengths of all its contexts.
//
//   runs of four sequences    40    3    2    700        745 in all
//   a share of 64 takes at most ceil(745 / 64) = 12:
//   shares                     4    1    1     59        the longest first
//
// So no block walks more than what is one's part of all runs, however the lengths differ, and
// there are never more shares than tiles + `shares`, so that the grid of a graph can be fixed. A
// tile of several shares needs a slot of the workspace for each run; what finds none (the shortest
// of those tiles) is one block's. The sums are the same bits whoever takes a run.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/schema/engine_generated.h"

#include <span>

namespace ingot::cuda {

constexpr int64_t kRunPositions = 256; ///< device/attention.cuh

/// What the kernels of a program can share out.
struct AttentionSharing {
  int64_t shares = 0; ///< beyond one for each tile, at most kMostShares; 0: none is shared
  int64_t slots = 0;  ///< runs that the workspace has room for
  int64_t window = 0; ///< the largest of any layer; 0: some layer sees all positions

  static AttentionSharing of(const fb::Program &program);
};

/// Whether tile i decodes: it is all that the step has of its sequence, up to here, and one token.
bool decodes(std::span<const AttentionTile> tiles, size_t i);

/// Deals the runs of tiles that decode; `to` has room for tiles.size() + sharing.shares. The number
/// of shares.
int64_t dealShares(std::span<const AttentionTile> tiles, const AttentionSharing &sharing,
                   AttentionShare *to);

} // namespace ingot::cuda
