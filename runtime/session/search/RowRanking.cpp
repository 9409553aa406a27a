//===- RowRanking.cpp - See RowRanking.h -----------------------------------===//
#include "runtime/session/search/RowRanking.h"

#include "runtime/sample/Softmax.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace ingot::runtime {

/// Returns a log-probability that is never NaN, because NaN has no order. NaN becomes -inf, and so do
/// all finite logits if one is +inf.
static double logprobOf(float logit, double norm) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (norm == kInfinity)
    return double(logit) == kInfinity ? 0 : -kInfinity;
  return norm == -kInfinity || logit != logit ? -kInfinity : double(logit) - norm;
}

/// Selects the tokens with a heap that has the worst token on top. Tokens come in the order of their ids, so a logit
/// never displaces an equal one.
void RowRanking::select(const float *logits, size_t count, std::span<const uint32_t> allowed) {
  auto better = [&](int32_t a, int32_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  };
  assert(count >= 1 && "there is no worst of no ids");
  assert((allowed.empty() || allowed.size() >= (vocab + 31) / 32) && "an id has no bit");
  chosen.clear();
  for (size_t id = 0; id < vocab; ++id) {
    const bool full = chosen.size() == count;
    // NaN and -inf are never chosen.
    if (!(logits[id] > (full ? logits[chosen.front()] : -std::numeric_limits<float>::infinity())))
      continue;
    if (!allowed.empty() && !(allowed[id / 32] >> (id % 32) & 1))
      continue;
    if (full) {
      std::pop_heap(chosen.begin(), chosen.end(), better);
      chosen.pop_back();
    }
    chosen.push_back(int32_t(id));
    std::push_heap(chosen.begin(), chosen.end(), better);
  }
  std::sort_heap(chosen.begin(), chosen.end(), better);
  for (size_t id = 0; chosen.empty() && id < vocab; ++id) // every allowed token has -inf or NaN
    if (allowed.empty() || (allowed[id / 32] >> (id % 32) & 1))
      chosen.push_back(int32_t(id));
}

std::vector<RowRanking::Candidate> RowRanking::best(const float *logits, size_t count,
                                                    std::span<const std::pair<int32_t, float>> bias,
                                                    std::span<const uint32_t> allowed) {
  const float *scored = logits;
  if (!bias.empty()) {
    biased.assign(logits, logits + vocab);
    for (auto [id, amount] : bias) {
      assert(id >= 0 && size_t(id) < vocab && "SamplingParams::check() refuses other ids");
      biased[size_t(id)] += amount;
    }
    scored = biased.data();
  }
  const double ownNorm = logSumExp({logits, vocab});
  const double norm = scored == logits ? ownNorm : logSumExp({scored, vocab});
  select(scored, count, allowed);
  assert(!chosen.empty() && "no id is allowed");
  std::vector<Candidate> candidates;
  candidates.reserve(chosen.size());
  for (int32_t id : chosen)
    candidates.push_back({id, logprobOf(scored[id], norm), float(logprobOf(logits[id], ownNorm))});
  return candidates;
}

std::vector<TokenLogprob> RowRanking::likeliest(const float *logits, size_t count) {
  const double norm = logSumExp({logits, vocab});
  count = std::min(count, vocab);
  select(logits, count, {});
  for (int32_t id = 0; chosen.size() < count; ++id) // append tokens that have -inf or NaN
    if (std::ranges::find(chosen, id) == chosen.end())
      chosen.push_back(id);
  std::vector<TokenLogprob> likeliest;
  likeliest.reserve(count);
  for (int32_t id : chosen)
    likeliest.push_back({id, float(logprobOf(logits[id], norm))});
  return likeliest;
}

} // namespace ingot::runtime
