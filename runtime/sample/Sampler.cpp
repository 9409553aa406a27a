//===- Sampler.cpp - Penalties, filters, draw -----------------------------===//
#include "runtime/sample/Sampler.h"

#include "runtime/sample/Philox.h"
#include "runtime/sample/Softmax.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace ingot::runtime {

namespace {

constexpr float kNegInf = -std::numeric_limits<float>::infinity();

/// Top-p tries prefixes of 64, 1024 and this many before it sorts everything.
constexpr size_t kLargestPrefix = 16384;

/// Above this a heap loses to a selection over everything.
constexpr size_t kHeapLimit = 4096;

bool better(float logitA, int32_t idA, float logitB, int32_t idB) {
  return logitA > logitB || (logitA == logitB && idA < idB);
}

} // namespace

int32_t argmax(std::span<const float> logits) {
  // The largest value first (no index to carry), then the first block that has it.
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
  return 0; // nothing but NaN
}

Sampler::Sampler(int64_t vocabSize)
    : vocab(size_t(vocabSize)), adjusted(std::make_unique_for_overwrite<float[]>(vocab)),
      weights(std::make_unique_for_overwrite<double[]>(vocab)) {
  candidates.reserve(vocab);
}

Sampler::Choice Sampler::choose(const float *logits, const SamplingParams &params,
                                const TokenHistory *history, uint64_t position) {
  const float *scores = adjust(logits, params, history);
  int32_t id = argmax({scores, vocab});
  float largest = scores[id];
  // With an infinite largest there is nothing to weigh: it is the answer.
  if (!params.greedy() && std::isfinite(largest)) {
    double u = uniformFor(params.seed, params.choice, position);
    bool ordered = (params.topK > 0 && size_t(params.topK) < vocab) || params.topP < 1.0f ||
                   params.typicalP < 1.0f;
    id = ordered ? drawFiltered(scores, largest, params, u) : drawFromAll(scores, id, params, u);
  }
  Choice choice{id, {}};
  if (params.topLogprobs >= 0)
    choice.logprobs = rank(logits, id, params.topLogprobs);
  return choice;
}

const float *Sampler::adjust(const float *logits, const SamplingParams &params,
                             const TokenHistory *history) {
  if (params.logitBias.empty() && !params.needsHistory())
    return logits;
  std::copy_n(logits, vocab, adjusted.get());
  for (auto [id, bias] : params.logitBias)
    adjusted[size_t(id)] += bias;
  if (!params.needsHistory())
    return adjusted.get();
  assert(history && "penalties need the ids so far");
  for (const TokenHistory::Entry &entry : history->entries()) {
    float &logit = adjusted[size_t(entry.id)];
    logit = logit > 0 ? logit / params.repetitionPenalty : logit * params.repetitionPenalty;
    if (entry.inOutput) {
      logit -= params.presencePenalty;
      logit -= params.frequencyPenalty * float(entry.inOutput);
    }
  }
  return adjusted.get();
}

/// candidates = the `count` best, best first.
void Sampler::selectTop(const float *logits, size_t count) {
  auto order = [](const Candidate &a, const Candidate &b) {
    return better(a.logit, a.id, b.logit, b.id);
  };
  auto candidate = [&](size_t id) {
    float logit = logits[id];
    return Candidate{logit == logit ? logit : kNegInf, int32_t(id), 0};
  };
  count = std::min(count, vocab);
  candidates.clear();
  if (count <= kHeapLimit) {
    // A heap with the worst on top. Ids come in rising order, so an equal logit
    // never displaces one that is in.
    for (size_t id = 0; id < count; ++id)
      candidates.push_back(candidate(id));
    std::make_heap(candidates.begin(), candidates.end(), order);
    for (size_t id = count; id < vocab; ++id) {
      if (!(logits[id] > candidates.front().logit))
        continue;
      std::pop_heap(candidates.begin(), candidates.end(), order);
      candidates.back() = candidate(id);
      std::push_heap(candidates.begin(), candidates.end(), order);
    }
  } else {
    for (size_t id = 0; id < vocab; ++id)
      candidates.push_back(candidate(id));
    auto end = candidates.begin() + ptrdiff_t(count);
    if (count < vocab)
      std::nth_element(candidates.begin(), end, candidates.end(), order);
    candidates.erase(end, candidates.end());
  }
  std::sort(candidates.begin(), candidates.end(), order);
}

int32_t Sampler::drawFromAll(const float *logits, int32_t best, const SamplingParams &params,
                             double u) {
  expWeights({logits, vocab}, logits[best], 1.0 / double(params.temperature), weights.get());
  // Sums of blocks, then the block in which the target lies, then the id in it.
  constexpr size_t kBlock = 256;
  auto blockSum = [&](size_t block) {
    double lanes[8] = {};
    size_t end = std::min(block + kBlock, vocab);
    for (size_t id = block; id < end; ++id) {
      weights[id] = weights[id] >= params.minP ? weights[id] : 0.0; // the likeliest weighs 1
      lanes[id % 8] += weights[id];
    }
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
           ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
  };
  double total = 0;
  for (size_t block = 0; block < vocab; block += kBlock)
    total += blockSum(block);
  double target = u * total, sum = 0;
  for (size_t block = 0; block < vocab; block += kBlock) {
    double inBlock = blockSum(block);
    if (sum + inBlock <= target) {
      sum += inBlock;
      continue;
    }
    // Added one by one the block may sum to a little less: then its last id it is.
    int32_t last = best;
    for (size_t id = block; id < std::min(block + kBlock, vocab) && sum <= target; ++id) {
      sum += weights[id];
      if (weights[id] > 0.0)
        last = int32_t(id);
    }
    return last;
  }
  return best; // u * total rounded up to total
}

/// candidates = the prefix that top-k and top-p leave, best first, with weights.
void Sampler::keepNucleus(const float *logits, float largest, const SamplingParams &params) {
  double scale = 1.0 / double(params.temperature);
  bool limited = params.topK > 0 && size_t(params.topK) < vocab;
  bool nucleus = params.topP < 1.0f;
  size_t most = limited ? size_t(params.topK) : vocab;

  // Mass that top-p is a share of: all that top-k leaves.
  double total = 0;
  if (nucleus && !limited) {
    expWeights({logits, vocab}, largest, scale, weights.get());
    for (size_t id = 0; id < vocab; ++id)
      total += weights[id];
  }

  for (size_t count = limited || !nucleus ? most : std::min<size_t>(64, most);;
       count = count < kLargestPrefix ? std::min(count * 16, most) : most) {
    selectTop(logits, count);
    double sum = 0;
    for (Candidate &candidate : candidates) {
      candidate.weight = expNonPositive((double(candidate.logit) - largest) * scale);
      sum += candidate.weight;
    }
    if (!nucleus)
      return;
    if (limited || candidates.size() == vocab)
      total = sum;
    double wanted = double(params.topP) * total, prefix = 0;
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

void Sampler::keepTypical(const SamplingParams &params) {
  double total = 0;
  for (const Candidate &candidate : candidates)
    total += candidate.weight;
  // Entropy of what is left; surprise of each against it. weights[] is by id here.
  double logTotal = logPositive(total);
  double entropy = 0;
  for (const Candidate &candidate : candidates) {
    if (candidate.weight < std::numeric_limits<double>::min())
      continue;
    entropy -= candidate.weight / total * (logPositive(candidate.weight) - logTotal);
  }
  for (const Candidate &candidate : candidates) {
    double surprise = candidate.weight < std::numeric_limits<double>::min()
                          ? std::numeric_limits<double>::infinity()
                          : logTotal - logPositive(candidate.weight);
    weights[size_t(candidate.id)] = std::fabs(surprise - entropy);
  }
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate &a, const Candidate &b) {
    double distanceA = weights[size_t(a.id)], distanceB = weights[size_t(b.id)];
    return distanceA < distanceB || (distanceA == distanceB && a.id < b.id);
  });
  double wanted = double(params.typicalP) * total, prefix = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    prefix += candidates[i].weight;
    if (prefix >= wanted) {
      candidates.resize(i + 1);
      return;
    }
  }
}

int32_t Sampler::drawFiltered(const float *logits, float largest, const SamplingParams &params,
                              double u) {
  keepNucleus(logits, largest, params);
  if (params.minP > 0.0f) // weights fall, and the first is 1: it stays
    while (candidates.back().weight < params.minP)
      candidates.pop_back();
  if (params.typicalP < 1.0f)
    keepTypical(params);
  double total = 0;
  for (const Candidate &candidate : candidates)
    total += candidate.weight;
  double target = u * total, sum = 0;
  for (const Candidate &candidate : candidates) {
    sum += candidate.weight;
    if (sum > target)
      return candidate.id;
  }
  return candidates.front().id;
}

std::span<const TokenLogprob> Sampler::rank(const float *logits, int32_t chosen, int32_t top) {
  double norm = logSumExp({logits, vocab});
  auto logprob = [&](int32_t id) { return float(double(logits[id]) - norm); };
  size_t count = 0;
  logprobs[count++] = {chosen, logprob(chosen)};
  if (top > 0) {
    selectTop(logits, size_t(top));
    for (const Candidate &candidate : candidates)
      logprobs[count++] = {candidate.id, logprob(candidate.id)};
  }
  return {logprobs.data(), count};
}

} // namespace ingot::runtime
