//===- ReadAhead.cpp - See ReadAhead.h ------------------------------------===//
#include "runtime/device/cpu/ReadAhead.h"

#include <algorithm>
#include <cassert>

namespace ingot::cpu {

ReadAhead::ReadAhead(std::vector<uint32_t> kernelOf, size_t parts)
    : kernels(std::move(kernelOf)), best(parts * kernels.size()) {
  const size_t count = kernels.empty() ? 0 : *std::ranges::max_element(kernels) + size_t(1);
  chosen.assign(count, kWays.front());
  sums.resize(count);
  std::vector<uint32_t> seen(count);
  for (uint32_t kernel : kernels)
    turns.push_back(seen[kernel]++);
}

int ReadAhead::begin(int64_t tokens) {
  if (tokens != 1 || best.empty())
    return kNoTrial;
  if (trials == kTrials) {
    decide();
    return kNoTrial;
  }
  return trials++;
}

int64_t ReadAhead::bytes(int trial, int64_t tokens, size_t launch) const {
  assert(launch < kernels.size() && "the program has no such launch");
  if (tokens > kFewTokens)
    return kWays.front();
  return trial == kNoTrial ? chosen[kernels[launch]] : kWays[wayOf(trial, turns[launch])];
}

void ReadAhead::took(int trial, size_t launch, size_t part, uint64_t nanoseconds) {
  assert(trial >= 0 && trial < kTrials && launch < kernels.size() &&
         part * kernels.size() + launch < best.size() && "a part of no trial");
  uint64_t &least = best[part * kernels.size() + launch][wayOf(trial, turns[launch])];
  least = least ? std::min(least, nanoseconds) : nanoseconds;
}

void ReadAhead::decide() {
  for (size_t i = 0; i < best.size(); ++i)
    if (std::ranges::find(best[i], uint64_t(0)) == best[i].end())
      for (size_t way = 0; way < kWays.size(); ++way)
        sums[kernels[i % kernels.size()]][way] += best[i][way];
  for (size_t kernel = 0; kernel < chosen.size(); ++kernel)
    chosen[kernel] = kWays[size_t(std::ranges::min_element(sums[kernel]) - sums[kernel].begin())];
  best.clear();
}

} // namespace ingot::cpu
