//===- FragmentReference.h - Random weights, read by coordinates --------------===//
#pragma once

#include "tests/runtime/formats/RandomWeights.h"

#include <vector>

namespace ingot::codegen::cuda::test {

using FragmentReader = ingot::test::WeightReader<FragmentLayout>;

/// A weight of random bits. Padding rows have scales (for floats: values) of 0, as the packer
/// writes them.
struct RandomFragments {
  FragmentLayout layout;
  std::vector<uint8_t> bytes;

  RandomFragments(WeightFormat id, int64_t n, int64_t k, uint32_t seed)
      : layout(fragmentLayout(id, n, k)), bytes(layout.bytes()) {
    const float scale = numericFormat(id).superGroup ? 0.1f / 64 : 0.1f;
    ingot::test::fillRandomly(layout, reinterpret_cast<char *>(bytes.data()), seed, scale, scale);
  }
  FragmentReader reader() const { return FragmentReader(layout, bytes.data()); }
};

/// Random floats in panels, as projections of f32 rows read them.
struct RandomPanels {
  PanelLayout layout;
  std::vector<uint8_t> bytes;

  RandomPanels(WeightFormat id, int64_t n, int64_t k, uint32_t seed)
      : layout(panelLayout(id, n, k)), bytes(layout.bytes()) {
    ingot::test::fillRandomly(layout, reinterpret_cast<char *>(bytes.data()), seed, 0.1f, 0.1f);
  }
  float value(int64_t row, int64_t k) const {
    return ingot::test::WeightReader<PanelLayout>(layout, bytes.data()).value(row, k);
  }
};

} // namespace ingot::codegen::cuda::test
