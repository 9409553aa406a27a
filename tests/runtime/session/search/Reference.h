//===- Reference.h - Searches, written down plainly --------------------------===//
//
// What a search must answer, from the fake model's formulas (FakeEngine.h): every sequence is
// computed from its ids alone, one after the other; no pages, no forks, no batches.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/session/search/SearchParams.h"
#include "tests/runtime/device/FakeEngine.h"

#include <cstdint>
#include <set>
#include <vector>

namespace ingot::test {

struct Found {
  std::vector<int32_t> ids; ///< with the id that ended it
  double sum = 0;           ///< of log-probabilities
  double score = 0;
};

/// log-softmax of the fake model's logits after `ids`.
std::vector<double> fakeLogprobs(const std::vector<int32_t> &ids);

/// The answers of a beam search, best first.
std::vector<Found> beamsAlone(const std::vector<int32_t> &prompt, int64_t maxTokens,
                              const runtime::BeamParams &params, const std::set<int32_t> &ends);

/// The largest first; among equals whoever stood first.
void sortBy(std::vector<Found> &all, double Found::*key);

/// The ids of a contrastive search, without one that ends it.
std::vector<int32_t> contrastiveAlone(const std::vector<int32_t> &prompt, int64_t maxTokens,
                                      const runtime::ContrastiveParams &params,
                                      const std::set<int32_t> &ends);

} // namespace ingot::test
