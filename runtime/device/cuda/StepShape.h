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
#include "runtime/device/cuda/Driver.h"
#include "runtime/schema/engine_generated.h"

#include <optional>

namespace ingot::cuda {

struct StepShape {
  uint64_t tokens = 0, rows = 0, tiles = 0;
  uint64_t tileTokens = 0; ///< of the largest attention tile

  static StepShape of(const BatchView &batch);
  /// Every tile has one token: each sequence decodes.
  bool decodes() const { return tileTokens <= 1 && tiles == tokens; }
};

/// The tokens of the graph for a decode step of `tokens`: at least as many.
uint64_t bucketOf(uint64_t tokens);

/// The first variant whose guards hold. The verifier made sure that there is one.
uint32_t variantFor(const fb::KernelVariants &variants, const StepShape &shape);

/// Blocks in one direction; nothing beyond 63 bits.
std::optional<uint64_t> blocks(const fb::Extent &extent, const StepShape &shape);

/// The variant's launch; nothing if a grid is more than a GPU takes (2^31 - 1, 65535, 65535).
/// An extent of 0: nothing to do.
std::optional<Launch> launchOf(const fb::Variant &variant, const StepShape &shape);

} // namespace ingot::cuda
