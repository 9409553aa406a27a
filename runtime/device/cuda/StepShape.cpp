//===- StepShape.cpp - See StepShape.h --------------------------------------===//
#include "runtime/device/cuda/StepShape.h"

#include "runtime/engine/Memory.h"

#include <algorithm>
#include <cassert>

namespace ingot::cuda {

StepShape StepShape::of(const BatchView &batch, const AttentionSplitting &sharing) {
  StepShape shape{uint64_t(batch.tokens), uint64_t(batch.rows), uint64_t(batch.tiles)};
  const std::span tiles(batch.attentionTiles, shape.tiles);
  for (size_t i = 0; i < tiles.size(); ++i) {
    shape.tileTokens = std::max(shape.tileTokens, uint64_t(tiles[i].tokens));
    shape.promptTiles += !cuda::decodes(tiles, i);
  }
  if (shape.promptTiles < shape.tiles)
    shape.shares = shape.tiles - shape.promptTiles + uint64_t(sharing.shares);
  shape.spans = uint64_t(batch.spanCount);
  return shape;
}

StepShape StepShape::ofDecodes(uint64_t tokens, uint64_t rows, const AttentionSplitting &sharing) {
  return {tokens, rows, tokens, 1, 0, tokens + uint64_t(sharing.shares), tokens};
}

uint64_t bucketOf(uint64_t tokens) {
  for (uint64_t bucket : {1, 2, 4, 8, 16, 24, 32, 48, 64})
    if (tokens <= bucket)
      return bucket;
  return (tokens + 63) / 64 * 64;
}

ChosenVariants variantsFor(const fb::KernelVariants &variants, const StepShape &shape) {
  auto holds = [](uint64_t most, uint64_t count) { return most == 0 || count <= most; };
  enum Kind { Any, Decoding, Prompt, Kinds };
  auto kindOf = [](const fb::Variant &v) {
    return v.x()->base() == fb::GridBase::Shares        ? Decoding
           : v.x()->base() == fb::GridBase::PromptTiles ? Prompt
                                                        : Any;
  };
  ChosenVariants chosen{};
  bool found[Kinds] = {};
  for (uint32_t i = 0; const fb::Variant *v : *variants.variants()) {
    const Kind kind = kindOf(*v);
    if (!found[kind] && holds(v->max_tokens(), shape.tokens) && holds(v->max_rows(), shape.rows) &&
        holds(v->max_tile_tokens(), shape.tileTokens))
      found[kind] = true, chosen.index[chosen.count++] = i;
    ++i;
  }
  return chosen;
}

std::optional<uint64_t> blocks(const fb::Extent &extent, const StepShape &shape) {
  const uint64_t bases[] = {1,           shape.tokens, shape.rows, // indexed by GridBase
                            shape.tiles, shape.shares, shape.promptTiles, shape.spans};
  assert(size_t(extent.base()) < std::size(bases) && extent.divide() != 0 &&
         "the verifier refuses other grids");
  auto product = runtime::checkedMul(bases[size_t(extent.base())], extent.multiply());
  if (!product)
    return std::nullopt;
  return *product / extent.divide() + (*product % extent.divide() != 0);
}

std::optional<Launch> launchOf(const fb::Variant &variant, const StepShape &shape) {
  constexpr uint64_t kMost[] = {0x7FFFFFFF, 65535, 65535}; // CUDA's largest grid in x, y and z
  Launch launch;
  launch.cluster = std::max(variant.cluster(), 1u);
  const fb::Extent *extents[] = {variant.x(), variant.y(), variant.z()};
  for (int i = 0; i < 3; ++i) {
    auto count = blocks(*extents[i], shape);
    if (!count || *count > kMost[i])
      return std::nullopt;
    uint64_t whole = i == 0 ? launch.cluster : 1;
    uint64_t rounded = (*count + whole - 1) / whole * whole;
    if (rounded > kMost[i])
      return std::nullopt;
    launch.grid[i] = uint32_t(rounded);
  }
  launch.threads = variant.threads();
  launch.sharedBytes = variant.shared_bytes();
  launch.overlap = variant.overlap();
  return launch;
}

} // namespace ingot::cuda
