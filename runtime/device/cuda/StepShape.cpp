//===- StepShape.cpp - See StepShape.h --------------------------------------===//
#include "runtime/device/cuda/StepShape.h"

#include "runtime/engine/Memory.h"

#include <algorithm>

namespace ingot::cuda {

StepShape StepShape::of(const BatchView &batch) {
  StepShape shape{uint64_t(batch.tokens), uint64_t(batch.rows), uint64_t(batch.tiles), 0};
  for (int64_t i = 0; i < batch.tiles; ++i)
    shape.tileTokens = std::max(shape.tileTokens, uint64_t(batch.attentionTiles[i].tokens));
  return shape;
}

uint64_t bucketOf(uint64_t tokens) {
  for (uint64_t bucket : {1, 2, 4, 8, 16, 24, 32, 48, 64})
    if (tokens <= bucket)
      return bucket;
  return (tokens + 63) / 64 * 64;
}

uint32_t variantFor(const fb::KernelVariants &variants, const StepShape &shape) {
  auto holds = [](uint64_t most, uint64_t count) { return most == 0 || count <= most; };
  const auto &all = *variants.variants();
  for (uint32_t i = 0; i + 1 < all.size(); ++i)
    if (holds(all[i]->max_tokens(), shape.tokens) && holds(all[i]->max_rows(), shape.rows) &&
        holds(all[i]->max_tile_tokens(), shape.tileTokens))
      return i;
  return all.size() - 1;
}

std::optional<uint64_t> blocks(const fb::Extent &extent, const StepShape &shape) {
  const uint64_t bases[] = {1, shape.tokens, shape.rows, shape.tiles}; // by GridBase
  auto product = runtime::checkedMul(bases[size_t(extent.base())], extent.multiply());
  if (!product)
    return std::nullopt;
  return *product / extent.divide() + (*product % extent.divide() != 0);
}

std::optional<Launch> launchOf(const fb::Variant &variant, const StepShape &shape) {
  constexpr uint64_t kMost[] = {0x7FFFFFFF, 65535, 65535};
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
