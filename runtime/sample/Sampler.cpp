//===- Sampler.cpp - Penalties, filters and sampling ----------------------===//
#include "runtime/sample/Sampler.h"

#include "runtime/formats/PanelLayout.h"
#include "runtime/sample/Philox.h"
#include "runtime/sample/Softmax.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>

namespace ingot::runtime {

namespace {

constexpr float kNegInf = -std::numeric_limits<float>::infinity();

/// Top-p tries prefixes of 64, 1024 and this size before it sorts everything.
constexpr size_t kLargestPrefix = 16384;

/// Above this count, a heap is slower than a selection over all tokens.
constexpr size_t kHeapLimit = 4096;

/// The smaller and the larger number of panel groups. Their maxima bound the k-th largest logit (Sampler.h).
constexpr size_t kFewestGroups = 64, kMostGroups = 1024;

/// Maps a random number to a number below `total`.
uint64_t targetOf(uint64_t random, uint64_t total) {
  return uint64_t((unsigned __int128)(random)*total >> 64);
}

/// Returns a fraction of `total`; `share` < 1.
uint64_t shareOf(float share, uint64_t total) { return uint64_t(double(share) * double(total)); }

bool isAllowed(std::span<const uint32_t> allowed, int32_t id) {
  return allowed[size_t(id) / 32] >> (size_t(id) % 32) & 1;
}

int32_t firstAllowed(std::span<const uint32_t> allowed) {
  for (size_t word = 0; word < allowed.size(); ++word)
    if (allowed[word])
      return int32_t(word * 32) + std::countr_zero(allowed[word]);
  assert(false && "nothing is allowed");
  return 0;
}

/// Copies the logits of allowed tokens, and sets the others to -inf.
void copyAllowed(const float *logits, std::span<const uint32_t> allowed, std::span<float> to) {
  for (size_t first = 0; first < to.size(); first += 32) {
    const uint32_t bits = allowed[first / 32];
    const size_t count = std::min<size_t>(32, to.size() - first);
    if (bits == 0) // the most frequent case
      std::fill_n(to.data() + first, count, kNegInf);
    else
      for (size_t i = 0; i < count; ++i)
        to[first + i] = bits >> i & 1 ? logits[first + i] : kNegInf;
  }
}

} // namespace

int32_t argmax(std::span<const float> logits) {
  // Find the largest value first, which needs no index, and then the first block that has it.
  constexpr size_t kBlock = 64;
  float largest = largestOf(logits);
  size_t id = 0;
  for (; id + kBlock <= logits.size(); id += kBlock) {
    bool found = false;
    for (size_t i = 0; i < kBlock; ++i)
      found |= logits[id + i] == largest;
    if (found)
      break;
  }
  for (; id < logits.size(); ++id)
    if (logits[id] == largest)
      return int32_t(id);
  return 0; // all logits are NaN
}

bool Sampler::ranksBefore(const Candidate &a, const Candidate &b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

Sampler::Sampler(int64_t vocabSize)
    : vocab(size_t(vocabSize)), adjusted(std::make_unique_for_overwrite<float[]>(vocab)),
      weights(std::make_unique_for_overwrite<uint64_t[]>(vocab)),
      typicality(std::make_unique_for_overwrite<double[]>(vocab)) {
  candidates.reserve(vocab);
}

Sampler::Choice Sampler::choose(const float *logits, const SamplingParams &params,
                                const TokenHistory *history, uint64_t position,
                                const float *maximaOfLogits, std::span<const uint32_t> allowed) {
  assert((allowed.empty() || allowed.size() >= (vocab + 31) / 32) && "an id has no bit");
  const float *scores = adjust(logits, params, history, allowed);
  maxima = scores == logits ? maximaOfLogits : nullptr;
  int32_t id = best(scores);
  if (!allowed.empty() && !isAllowed(allowed, id)) // no allowed token has a finite logit
    id = firstAllowed(allowed);
  assert(id >= 0 && size_t(id) < vocab && "an id outside the vocabulary is allowed");
  float largest = scores[id];
  // If the largest logit is infinite, there are no finite weights, and its token is the result.
  if (!params.greedy() && std::isfinite(largest)) {
    const RowSampling how = rowSampling(params);
    uint64_t random = randomFor(how.seed, how.choice, position);
    bool ordered =
        (how.topK > 0 && size_t(how.topK) < vocab) || how.topP < 1.0f || params.typicalP < 1.0f;
    id = ordered ? drawFiltered(scores, largest, params, how, random)
                 : drawFromAll(scores, largest, how, random);
  }
  Choice choice{id, {}};
  maxima = maximaOfLogits;
  if (params.topLogprobs >= 0)
    choice.logprobs = rank(logits, id, params.topLogprobs);
  return choice;
}

PromptScore Sampler::score(const float *logits, int32_t id, int32_t top,
                           const float *maximaOfLogits) {
  assert(id >= 0 && size_t(id) < vocab && top <= kMaxTopLogprobs && "the caller checks requests");
  maxima = maximaOfLogits;
  auto ranked = rank(logits, id, top);
  const float own = logits[id];
  PromptScore score{1, {ranked.begin(), ranked.end()}};
  for (size_t other = 0; other < vocab; ++other)
    score.rank += logits[other] > own;
  return score;
}

const float *Sampler::adjust(const float *logits, const SamplingParams &params,
                             const TokenHistory *history, std::span<const uint32_t> allowed) {
  if (params.logitBias.empty() && !params.needsHistory() && allowed.empty())
    return logits;
  if (allowed.empty())
    std::copy_n(logits, vocab, adjusted.get());
  else
    copyAllowed(logits, allowed, {adjusted.get(), vocab});
  for (auto [id, bias] : params.logitBias) {
    assert(id >= 0 && size_t(id) < vocab && "SamplingParams::check() refuses other ids");
    adjusted[size_t(id)] += bias;
  }
  if (!params.needsHistory())
    return adjusted.get();
  assert(history && "penalties need the ids so far");
  for (const TokenHistory::Entry &entry : history->entries()) {
    if (!entry.inPrompt && !entry.inOutput)
      continue;
    assert(entry.id >= 0 && size_t(entry.id) < vocab && "an id that no prompt or draw may have");
    float &logit = adjusted[size_t(entry.id)];
    logit = logit > 0 ? logit / params.repetitionPenalty : logit * params.repetitionPenalty;
    if (entry.inOutput) {
      logit -= params.presencePenalty;
      logit -= params.frequencyPenalty * float(entry.inOutput);
    }
  }
  return adjusted.get();
}

/// Returns the same token as argmax, and uses the maxima if there are any.
int32_t Sampler::best(const float *logits) const {
  if (!maxima)
    return argmax({logits, vocab});
  size_t panels = (vocab + kPanelRows - 1) / kPanelRows;
  int32_t panel = argmax({maxima, panels});
  size_t first = size_t(panel) * kPanelRows;
  for (size_t id = first; id < std::min(first + kPanelRows, vocab); ++id)
    if (logits[id] == maxima[panel])
      return int32_t(id);
  return argmax({logits, vocab}); // there are only NaN and -inf
}

/// Sets candidates with the panels' maxima (Sampler.h). Returns false if these do not determine the result.
bool Sampler::selectFromMaxima(const float *logits, size_t count) {
  size_t panels = (vocab + kPanelRows - 1) / kPanelRows;
  const size_t size = count <= kFewestGroups ? kFewestGroups : kMostGroups;
  if (!maxima || count > size || size > panels)
    return false;
  float groups[kMostGroups];
  std::copy_n(maxima, size, groups);
  for (size_t first = size; first < panels; first += size)
    for (size_t g = 0, end = std::min(size, panels - first); g < end; ++g)
      groups[g] = std::max(groups[g], maxima[first + g]);
  std::nth_element(groups, groups + count - 1, groups + size, std::greater<float>());
  const float bound = groups[count - 1];
  if (bound == kNegInf)
    return false;
  candidates.clear();
  for (size_t panel = 0; panel < panels; ++panel) {
    if (!(maxima[panel] >= bound))
      continue;
    size_t first = panel * kPanelRows;
    for (size_t id = first; id < std::min(first + kPanelRows, vocab); ++id)
      if (logits[id] >= bound)
        candidates.push_back({logits[id], int32_t(id), 0});
  }
  if (candidates.size() < count)
    return false;
  auto end = candidates.begin() + ptrdiff_t(count);
  std::nth_element(candidates.begin(), end - 1, candidates.end(), ranksBefore);
  candidates.erase(end, candidates.end());
  std::sort(candidates.begin(), candidates.end(), ranksBefore);
  return true;
}

/// Sets candidates to the `count` largest logits, largest first.
void Sampler::selectTop(const float *logits, size_t count) {
  assert(count >= 1 && "there is no worst of no candidates");
  if (selectFromMaxima(logits, count))
    return;
  auto candidate = [&](size_t id) {
    float logit = logits[id];
    return Candidate{logit == logit ? logit : kNegInf, int32_t(id), 0};
  };
  count = std::min(count, vocab);
  candidates.clear();
  if (count <= kHeapLimit) {
    // A heap with the worst candidate on top. Ids ascend, so an equal logit never displaces an earlier one.
    for (size_t id = 0; id < count; ++id)
      candidates.push_back(candidate(id));
    std::make_heap(candidates.begin(), candidates.end(), ranksBefore);
    for (size_t id = count; id < vocab; ++id) {
      if (!(logits[id] > candidates.front().logit))
        continue;
      std::pop_heap(candidates.begin(), candidates.end(), ranksBefore);
      candidates.back() = candidate(id);
      std::push_heap(candidates.begin(), candidates.end(), ranksBefore);
    }
  } else {
    for (size_t id = 0; id < vocab; ++id)
      candidates.push_back(candidate(id));
    auto end = candidates.begin() + ptrdiff_t(count);
    if (count < vocab)
      std::nth_element(candidates.begin(), end, candidates.end(), ranksBefore);
    candidates.erase(end, candidates.end());
  }
  std::sort(candidates.begin(), candidates.end(), ranksBefore);
}

int32_t Sampler::drawFromAll(const float *logits, float largest, const RowSampling &how,
                             uint64_t random) {
  drawWeights({logits, vocab}, largest, how.scale, how.least, weights.get());
  uint64_t total = 0;
  for (size_t id = 0; id < vocab; ++id)
    total += weights[id];
  assert(total > 0 && "the largest logit has a weight");
  uint64_t target = targetOf(random, total);
  size_t id = 0;
  for (; weights[id] <= target; ++id)
    target -= weights[id];
  return int32_t(id);
}

/// Sets candidates to the tokens that top-k and top-p leave, largest logit first, with weights.
void Sampler::keepNucleus(const float *logits, float largest, const RowSampling &how) {
  bool limited = how.topK > 0 && size_t(how.topK) < vocab;
  bool nucleus = how.topP < 1.0f;
  size_t most = limited ? size_t(how.topK) : vocab;

  // Top-p applies to the mass of all tokens that top-k leaves.
  uint64_t total = 0;
  if (nucleus && !limited) {
    drawWeights({logits, vocab}, largest, how.scale, kLeastExponent, weights.get());
    for (size_t id = 0; id < vocab; ++id)
      total += weights[id];
  }

  for (size_t count = limited || !nucleus ? most : std::min<size_t>(64, most);;
       count = count < kLargestPrefix ? std::min(count * 16, most) : most) {
    selectTop(logits, count);
    uint64_t sum = 0;
    for (Candidate &candidate : candidates) {
      candidate.weight = drawWeight((double(candidate.logit) - largest) * how.scale);
      sum += candidate.weight;
    }
    if (!nucleus)
      return;
    if (limited)
      total = sum;
    uint64_t wanted = shareOf(how.topP, total), prefix = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      prefix += candidates[i].weight;
      if (prefix >= wanted) {
        candidates.resize(i + 1);
        return;
      }
    }
    if (candidates.size() == most)
      return;
  }
}

/// Reorders candidates by distance to the entropy, nearest first, and keeps `share` of their mass.
void Sampler::keepTypical(float largest, const RowSampling &how, float share) {
  uint64_t total = 0;
  for (const Candidate &candidate : candidates)
    total += candidate.weight;
  assert(total > 0 && "the largest logit has a weight");
  // Compute the entropy of the remaining candidates, and for each the distance of its surprise to it.
  const double logTotal = logPositive(double(total) * kWeightUnit);
  auto surprise = [&](const Candidate &candidate) {
    return logTotal - (double(candidate.logit) - largest) * how.scale;
  };
  double entropy = 0;
  for (const Candidate &candidate : candidates)
    entropy += double(candidate.weight) / double(total) * surprise(candidate);
  for (const Candidate &candidate : candidates)
    typicality[size_t(candidate.id)] = std::fabs(surprise(candidate) - entropy);
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate &a, const Candidate &b) {
    double distanceA = typicality[size_t(a.id)], distanceB = typicality[size_t(b.id)];
    return distanceA < distanceB || (distanceA == distanceB && a.id < b.id);
  });
  uint64_t wanted = shareOf(share, total), prefix = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    prefix += candidates[i].weight;
    if (prefix >= wanted) {
      candidates.resize(i + 1);
      return;
    }
  }
}

int32_t Sampler::drawFiltered(const float *logits, float largest, const SamplingParams &params,
                              const RowSampling &how, uint64_t random) {
  keepNucleus(logits, largest, how);
  assert(!candidates.empty() && candidates.front().logit == largest && "candidates are ordered");
  // The first candidate is the largest, so it always stays.
  while ((double(candidates.back().logit) - largest) * how.scale < how.least)
    candidates.pop_back();
  if (params.typicalP < 1.0f)
    keepTypical(largest, how, params.typicalP);
  uint64_t total = 0;
  for (const Candidate &candidate : candidates)
    total += candidate.weight;
  assert(total > 0 && "nothing is left to draw from");
  uint64_t target = targetOf(random, total);
  auto chosen = candidates.begin();
  for (; chosen->weight <= target; ++chosen)
    target -= chosen->weight;
  return chosen->id;
}

std::span<const TokenLogprob> Sampler::rank(const float *logits, int32_t chosen, int32_t top) {
  double norm = logSumExp({logits, vocab});
  auto logprob = [&](int32_t id) { return float(double(logits[id]) - norm); };
  size_t count = 0;
  logprobs[count++] = {chosen, logprob(chosen)};
  if (top > 0) {
    selectTop(logits, size_t(top));
    assert(candidates.size() < logprobs.size() && "SamplingParams::check() bounds their number");
    for (const Candidate &candidate : candidates)
      logprobs[count++] = {candidate.id, logprob(candidate.id)};
  }
  return {logprobs.data(), count};
}

} // namespace ingot::runtime
