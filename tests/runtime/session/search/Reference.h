//===- Reference.h - Plain reference implementations of searches -------------===//
//
// Computes the expected results of a search from the fake model's formulas (FakeEngine.h). Each
// sequence is computed only from its ids, one after the other, without pages, forks or batches.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/session/search/SearchParams.h"
#include "tests/runtime/device/FakeEngine.h"

#include <cstdint>
#include <set>
#include <vector>

namespace ingot::test {

struct Found {
  std::vector<int32_t> ids; ///< including the id that ended it
  double sum = 0;           ///< sum of log-probabilities
  double score = 0;
};

/// Returns the log-softmax of the fake model's logits after `ids`.
std::vector<double> fakeLogprobs(const std::vector<int32_t> &ids);

/// Returns the answers of a beam search, best first.
std::vector<Found> beamsAlone(const std::vector<int32_t> &prompt, int64_t maxTokens,
                              const runtime::BeamParams &params, const std::set<int32_t> &ends);

/// Sorts by `key`, the largest first. Equal elements keep their order.
void sortBy(std::vector<Found> &all, double Found::*key);

/// Returns the ids of a contrastive search, without the id that ends it.
std::vector<int32_t> contrastiveAlone(const std::vector<int32_t> &prompt, int64_t maxTokens,
                                      const runtime::ContrastiveParams &params,
                                      const std::set<int32_t> &ends);

} // namespace ingot::test
