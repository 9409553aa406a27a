//===- StepShape.h - Counts of a step, and what a launch becomes for them ----===//
//
// A kernel has variants, each for steps up to some size, and each variant says how many
// blocks it needs: ceil(base * multiply / divide). Decode steps go through graphs, whose
// grids are fixed: such a step is run as if it had as many tokens as the next bucket, and
// blocks beyond its counts leave at once.
//
//   tokens    1   2   3   4   5 … 8   9 … 16   …   49 … 64   65 … 128   …
//   bucket    1   2   4   4     8       16            64        128
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Batch.h"
#include "runtime/device/cuda/AttentionShares.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/schema/engine_generated.h"

#include <optional>

namespace ingot::cuda {

struct StepShape {
  uint64_t tokens = 0, rows = 0, tiles = 0;
  uint64_t tileTokens = 0;  ///< of the largest attention tile
  uint64_t promptTiles = 0; ///< that do not decode (AttentionShares.h)
  uint64_t shares = 0;      ///< as many as there may be, of the tiles that do
  uint64_t spans = 0;       ///< sequences with tokens, if there are fixed states

  static StepShape of(const BatchView &batch, const AttentionSharing &sharing);
  /// Of a step in which each of so many sequences decodes.
  static StepShape ofDecodes(uint64_t tokens, uint64_t rows, const AttentionSharing &sharing);
  /// Every tile has one token: each sequence decodes.
  bool decodes() const { return promptTiles == 0 && tiles == tokens; }
};

/// The tokens of the graph for a decode step of `tokens`: at least as many.
uint64_t bucketOf(uint64_t tokens);

/// Of each kind, the first variant whose guards hold: mostly there is one kind, of attention there
/// are two, for tiles of prompts and for those that decode (engine.fbs). The verifier made sure
/// that one holds.
struct ChosenVariants {
  uint32_t index[2], count;

  const uint32_t *begin() const { return index; }
  const uint32_t *end() const { return index + count; }
};
ChosenVariants variantsFor(const fb::KernelVariants &variants, const StepShape &shape);

/// Blocks in one direction; nothing beyond 63 bits.
std::optional<uint64_t> blocks(const fb::Extent &extent, const StepShape &shape);

/// The variant's launch; nothing if a grid is more than a GPU takes (2^31 - 1, 65535, 65535).
/// An extent of 0: nothing to do.
std::optional<Launch> launchOf(const fb::Variant &variant, const StepShape &shape);

} // namespace ingot::cuda
