//===- StepShape.h - Counts of a step, and the launch parameters for them ----===//
//
// A kernel has variants, each for steps up to some size. A variant declares how many blocks it needs
// in each dimension: ceil(base * multiply / divide). Decode steps run as CUDA graphs, which have fixed grids. There is
// one graph for each bucket of the table below. A step uses the graph of its bucket, with the grids for the bucket's
// token count, and surplus blocks exit at once.
//
//   tokens    1   2   3   4   5 … 8   9 … 16   …   49 … 64   65 … 128   …
//   bucket    1   2   4   4     8       16            64        128
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/device/cuda/AttentionSplits.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/schema/engine_generated.h"

#include <optional>

namespace ingot::cuda {

struct StepShape {
  uint64_t tokens = 0, rows = 0, tiles = 0;
  uint64_t tileTokens = 0;  ///< of the largest attention tile
  uint64_t promptTiles = 0; ///< tiles that do not decode (AttentionSplits.h)
  uint64_t shares = 0;      ///< maximum number of splits of the decode tiles
  uint64_t spans = 0;       ///< sequences with tokens, if there are fixed states

  static StepShape of(const BatchView &batch, const AttentionSplitting &sharing);
  /// Returns the shape of a step in which `tokens` sequences decode one token each.
  static StepShape ofDecodes(uint64_t tokens, uint64_t rows, const AttentionSplitting &sharing);
  /// Every tile has one token: each sequence decodes.
  bool decodes() const { return promptTiles == 0 && tiles == tokens; }
};

/// Returns the token count of the graph for a decode step of `tokens`, which is at least `tokens`.
uint64_t bucketOf(uint64_t tokens);

/// For each kind of variant, the first variant for which all guards hold. Most kernels have one kind; attention has
/// two, for prompt tiles and for decode tiles (engine.fbs). The verifier has checked that each kind has a variant for
/// every step.
struct ChosenVariants {
  uint32_t index[2], count;

  const uint32_t *begin() const { return index; }
  const uint32_t *end() const { return index + count; }
};
ChosenVariants variantsFor(const fb::KernelVariants &variants, const StepShape &shape);

/// Returns the number of blocks in one dimension; nullopt if it exceeds 63 bits.
std::optional<uint64_t> blocks(const fb::Extent &extent, const StepShape &shape);

/// Returns the variant's launch; nullopt if a grid exceeds the GPU's limits (2^31 - 1, 65535, 65535). If an
/// extent is 0, there is nothing to do.
std::optional<Launch> launchOf(const fb::Variant &variant, const StepShape &shape);

} // namespace ingot::cuda
