//===- DummyWeightUnits.cpp - See DummyWeightUnits.h ----------------------===//
#include "runtime/device/cuda/DummyWeightUnits.h"

#include "runtime/engine/WeightLayouts.h"
#include "runtime/formats/DummyWeights.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <thread>
#include <vector>

namespace ingot::cuda {

using runtime::fragmentLayoutOf;
using runtime::panelLayoutOf;

DummyWeightUnits::DummyWeightUnits(uint64_t seed, const fb::Weight &weight)
    : seed(seed), weight(weight) {
  switch (weight.layout()) {
  case fb::WeightLayout::VectorF32:
    unit = weight.size();
    break;
  case fb::WeightLayout::Panel32:
    unit = uint64_t(panelLayoutOf(weight).panelBytes());
    break;
  case fb::WeightLayout::Fragment16:
    unit = uint64_t(fragmentLayoutOf(weight).tileBytes());
    break;
  }
}

void DummyWeightUnits::fill(uint64_t first, std::span<std::byte> out, int threads) const {
  assert(out.size() % unit == 0 && "pieces consist of whole tiles");
  std::memset(out.data(), 0, out.size());
  if (weight.layout() == fb::WeightLayout::VectorF32)
    return fillSeedVector(int64_t(weight.shape()->Get(0)), out);
  const auto workers = uint64_t(std::max(threads, 1));
  const uint64_t count = out.size() / unit;
  const uint64_t share = (count + workers - 1) / workers;
  auto some = [&, this](uint64_t from) {
    std::span<std::byte> part = out.subspan(from * unit, std::min(share, count - from) * unit);
    if (weight.layout() == fb::WeightLayout::Fragment16)
      fillSeedFragments(seed, weight.tensor(), fragmentLayoutOf(weight), int64_t(first + from),
                        part);
    else
      fillSeedPanels(seed, weight.tensor(), panelLayoutOf(weight), int64_t(first + from), part);
  };
  std::vector<std::jthread> others;
  for (uint64_t from = share; from < count; from += share)
    others.emplace_back(some, from);
  some(0);
}

} // namespace ingot::cuda
