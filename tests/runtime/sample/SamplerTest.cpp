//===- SamplerTest.cpp - Filters against a plain implementation -----------===//
//
// The reference below implements SamplingParams.h in the most direct way: it sorts all
// logits, walks through them and draws. The sampler must choose the same ids.
//===----------------------------------------------------------------------===//
#include "runtime/sample/Sampler.h"
#include "runtime/sample/Philox.h"
#include "tests/runtime/sample/AllocationCount.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include <gtest/gtest.h>

using namespace ingot::runtime;
using ingot::test::allocationCount;

namespace {

struct Weighted {
  int32_t id;
  long double p;
};

std::vector<float> penalised(std::vector<float> logits, const SamplingParams &params,
                             const std::vector<int32_t> &prompt,
                             const std::vector<int32_t> &output) {
  for (auto [id, bias] : params.logitBias)
    logits[size_t(id)] += bias;
  std::map<int32_t, int> inOutput;
  for (int32_t id : prompt)
    inOutput[id] += 0;
  for (int32_t id : output)
    ++inOutput[id];
  for (auto [id, count] : inOutput) {
    float &logit = logits[size_t(id)];
    logit = logit > 0 ? logit / params.repetitionPenalty : logit * params.repetitionPenalty;
    if (count > 0)
      logit = logit - params.presencePenalty;
    logit = logit - params.frequencyPenalty * float(count);
  }
  return logits;
}

int32_t referenceChoice(const std::vector<float> &logits, const SamplingParams &params,
                        uint64_t position) {
  int32_t best = int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
  if (params.temperature == 0)
    return best;
  std::vector<Weighted> kept;
  for (size_t id = 0; id < logits.size(); ++id)
    kept.push_back({int32_t(id), std::exp(((long double)logits[id] - logits[size_t(best)]) /
                                          params.temperature)});
  auto normalise = [&] {
    long double sum = 0;
    for (const Weighted &w : kept)
      sum += w.p;
    for (Weighted &w : kept)
      w.p /= sum;
  };
  auto keepMass = [&](long double mass) {
    long double sum = 0;
    for (size_t i = 0; i < kept.size(); ++i) {
      sum += kept[i].p;
      if (sum >= mass) {
        kept.resize(i + 1);
        break;
      }
    }
    normalise();
  };
  bool ordered = (params.topK > 0 && size_t(params.topK) < kept.size()) || params.topP < 1 ||
                 params.typicalP < 1;
  if (ordered)
    std::sort(kept.begin(), kept.end(), [&](const Weighted &a, const Weighted &b) {
      return std::pair(-logits[size_t(a.id)], a.id) < std::pair(-logits[size_t(b.id)], b.id);
    });
  if (params.topK > 0 && size_t(params.topK) < kept.size())
    kept.resize(size_t(params.topK));
  normalise();
  if (params.topP < 1)
    keepMass(params.topP);
  if (params.minP > 0) {
    long double most = 0;
    for (const Weighted &w : kept)
      most = std::max(most, w.p);
    std::erase_if(kept, [&](const Weighted &w) { return w.p < params.minP * most; });
    normalise();
  }
  if (params.typicalP < 1) {
    long double entropy = 0;
    for (const Weighted &w : kept)
      entropy -= w.p > 0 ? w.p * std::log(w.p) : 0;
    auto distance = [&](const Weighted &w) { return std::fabs(-std::log(w.p) - entropy); };
    std::sort(kept.begin(), kept.end(), [&](const Weighted &a, const Weighted &b) {
      return std::pair(distance(a), a.id) < std::pair(distance(b), b.id);
    });
    keepMass(params.typicalP);
  }
  long double target = randomFor(params.seed, params.choice, position) * 0x1p-64L, sum = 0;
  for (const Weighted &w : kept) {
    sum += w.p;
    if (sum > target)
      return w.id;
  }
  return kept.back().id;
}

std::vector<float> randomLogits(size_t vocab, std::mt19937 &random, float spread = 3) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(vocab);
  for (float &logit : logits)
    logit = normal(random);
  return logits;
}

struct Case {
  const char *name;
  SamplingParams params;
};

std::vector<Case> filterCases() {
  std::vector<Case> cases;
  auto add = [&](const char *name, auto set) {
    SamplingParams params;
    params.temperature = 1;
    params.seed = cases.size() * 77 + 1;
    set(params);
    cases.push_back({name, params});
  };
  add("plain", [](SamplingParams &) {});
  add("cold", [](SamplingParams &p) { p.temperature = 0.3f; });
  add("hot", [](SamplingParams &p) { p.temperature = 4; });
  add("almost greedy", [](SamplingParams &p) { p.temperature = 1e-30f; });
  add("top-k 1", [](SamplingParams &p) { p.topK = 1; });
  add("top-k 5", [](SamplingParams &p) { p.topK = 5; });
  add("top-k beyond the vocabulary", [](SamplingParams &p) { p.topK = 1 << 20; });
  add("top-p .5", [](SamplingParams &p) { p.topP = 0.5f; });
  add("top-p .999, hot", [](SamplingParams &p) { p.topP = 0.999f, p.temperature = 8; });
  add("top-p 0", [](SamplingParams &p) { p.topP = 0; });
  add("min-p", [](SamplingParams &p) { p.minP = 0.1f; });
  add("typical", [](SamplingParams &p) { p.typicalP = 0.4f; });
  add("top-k and top-p", [](SamplingParams &p) { p.topK = 40, p.topP = 0.9f; });
  add("all", [](SamplingParams &p) {
    p.temperature = 1.3f, p.topK = 200, p.topP = 0.95f, p.minP = 0.01f, p.typicalP = 0.9f;
  });
  return cases;
}

} // namespace

TEST(Sampler, choosesWhatTheReferenceChooses) {
  std::mt19937 random(4);
  for (size_t vocab : {2u, 31u, 1009u, 5003u}) {
    Sampler sampler{int64_t(vocab)};
    for (const Case &test : filterCases()) {
      for (uint64_t position = 0; position < 60; ++position) {
        std::vector<float> logits = randomLogits(vocab, random);
        ASSERT_EQ(sampler.choose(logits.data(), test.params, nullptr, position).id,
                  referenceChoice(logits, test.params, position))
            << test.name << ", vocabulary " << vocab << ", position " << position;
      }
    }
  }
}

TEST(Sampler, largeTopKTakesTheSelectionPath) {
  std::mt19937 random(5);
  Sampler sampler(20011);
  SamplingParams params;
  params.temperature = 3;
  params.topK = 9000;
  for (uint64_t position = 0; position < 20; ++position) {
    std::vector<float> logits = randomLogits(20011, random, 1);
    ASSERT_EQ(sampler.choose(logits.data(), params, nullptr, position).id,
              referenceChoice(logits, params, position));
  }
}

/// Skipping logits by their maxima does not change the choice, even with ties, NaN and infinities, or
/// if all of the largest lie in one panel or group.
TEST(Sampler, maximaChangeNoChoice) {
  const float inf = std::numeric_limits<float>::infinity();
  std::mt19937 random(11);
  for (size_t vocab : {1u, 31u, 2047u, 2049u, 33000u}) {
    Sampler with{int64_t(vocab)}, without{int64_t(vocab)};
    for (int trial = 0; trial < 60; ++trial) {
      std::vector<float> logits(vocab);
      for (float &logit : logits) // few distinct values, so that there are ties, or a spread
        logit = trial % 3 == 0   ? float(random() % 5)
                : trial % 3 == 1 ? -2.5f
                                 : float(random() % 4096) * 0x1p-8f;
      for (int i = 0; i < 80 && trial % 4 == 1; ++i) // in every 64th panel
        logits[random() % (vocab / 2048 + 1) * 2048 % vocab] += 9.0f;
      for (int i = 0; i < 70 && trial % 4 == 2; ++i)
        logits[i % vocab] += 20.0f;
      for (size_t i = 0; i < vocab / 3 && trial % 5 == 3; ++i)
        logits[random() % vocab] = i % 2 ? std::nanf("") : -inf;
      if (trial % 10 == 4)
        std::fill(logits.begin() + 1, logits.end(), trial == 4 ? std::nanf("") : -inf);
      if (trial % 15 == 5)
        logits[random() % vocab] = inf;
      std::vector<float> maxima;
      for (size_t first = 0; first < vocab; first += 32) {
        maxima.push_back(-inf);
        for (size_t id = first; id < std::min(vocab, first + 32); ++id)
          maxima.back() = logits[id] > maxima.back() ? logits[id] : maxima.back();
      }
      for (int32_t topK : {0, 1, 40, 64, 65, 1024, 1025})
        for (float topP : {1.0f, 0.7f}) {
          SamplingParams params;
          params.temperature = trial % 7 ? 0.8f : 30.0f, params.topK = topK, params.topP = topP;
          params.minP = trial % 2 ? 0.0f : 0.05f, params.typicalP = trial % 6 ? 1.0f : 0.9f;
          params.topLogprobs = trial % 3 ? -1 : 7, params.seed = random();
          if (trial % 8 == 7)
            params.logitBias = {{int32_t(vocab / 2), 30.0f}};
          Sampler::Choice a = with.choose(logits.data(), params, nullptr, trial, maxima.data());
          Sampler::Choice b = without.choose(logits.data(), params, nullptr, trial);
          ASSERT_EQ(a.id, b.id) << vocab << " ids, trial " << trial << ", top-k " << topK;
          ASSERT_EQ(a.logprobs.size(), b.logprobs.size());
          for (size_t i = 0; i < a.logprobs.size(); ++i)
            ASSERT_EQ(a.logprobs[i].id, b.logprobs[i].id) << vocab << " ids, trial " << trial;
        }
    }
  }
}

TEST(Sampler, penaltiesAndBiasAgreeWithTheReference) {
  std::mt19937 random(6);
  Sampler sampler(211);
  for (float temperature : {0.0f, 0.8f}) {
    SamplingParams params;
    params.temperature = temperature;
    params.repetitionPenalty = 1.3f;
    params.presencePenalty = 0.6f;
    params.frequencyPenalty = 0.25f;
    params.logitBias = {{3, 4.0f}, {200, -std::numeric_limits<float>::infinity()}, {3, 1.0f}};
    params.seed = 9;
    std::vector<int32_t> prompt = {3, 5, 5, 200, 0}, output;
    TokenHistory history(prompt, 300);
    for (uint64_t position = 5; position < 300; ++position) {
      std::vector<float> logits = randomLogits(211, random, 1);
      int32_t expected =
          referenceChoice(penalised(logits, params, prompt, output), params, position);
      int32_t id = sampler.choose(logits.data(), params, &history, position).id;
      ASSERT_EQ(id, expected) << position;
      ASSERT_NE(id, 200);
      output.push_back(id);
      history.add(id);
    }
  }
}

TEST(Sampler, penaltiesLookAtTheLastIds) {
  std::mt19937 random(8);
  Sampler sampler(97);
  const std::vector<int32_t> prompt = {3, 5, 5, 90, 0};
  for (int window : {0, 1, 2, 7, 64, 1000}) {
    SamplingParams params;
    params.repetitionPenalty = 1.5f;
    params.presencePenalty = 0.6f;
    params.frequencyPenalty = 0.25f;
    params.penaltyWindow = window;
    std::vector<int32_t> output;
    TokenHistory history(prompt, 200, window);
    for (uint64_t position = 5; position < 200; ++position) {
      const size_t fromOutput = std::min(output.size(), size_t(window));
      const size_t fromPrompt = std::min(prompt.size(), size_t(window) - fromOutput);
      std::vector<float> logits = randomLogits(97, random, 1);
      const int32_t expected =
          argmax(penalised(logits, params, {prompt.end() - int64_t(fromPrompt), prompt.end()},
                           {output.end() - int64_t(fromOutput), output.end()}));
      const int32_t id = sampler.choose(logits.data(), params, &history, position).id;
      ASSERT_EQ(id, expected) << "window " << window << ", position " << position;
      output.push_back(id);
      history.add(id);
    }
  }
}

TEST(Sampler, greedyTakesTheLowestIdAmongEquals) {
  Sampler sampler(6);
  std::vector<float> logits = {1, 7, 3, 7, 7, -2};
  EXPECT_EQ(sampler.choose(logits.data(), {}, nullptr, 0).id, 1);
  EXPECT_EQ(argmax(std::vector<float>{std::nanf(""), -1, std::nanf(""), -0.5f}), 3);
  EXPECT_EQ(argmax(std::vector<float>{std::nanf("")}), 0);
  EXPECT_EQ(argmax(std::vector<float>{-0.0f, 0.0f}), 0);
}

TEST(Sampler, tiesAtTheEdgeOfTopKGoToTheLowerId) {
  Sampler sampler(5);
  std::vector<float> logits = {2, 1, 1, 1, 2};
  SamplingParams params;
  params.temperature = 100;
  params.topK = 3;
  std::array<int, 5> seen{};
  for (uint64_t position = 0; position < 500; ++position)
    ++seen[size_t(sampler.choose(logits.data(), params, nullptr, position).id)];
  EXPECT_GT(seen[0], 100);
  EXPECT_GT(seen[4], 100);
  EXPECT_GT(seen[1], 100);
  EXPECT_EQ(seen[2] + seen[3], 0);
}

TEST(Sampler, drawsFollowTheDistribution) {
  std::vector<float> logits = {0, 1, 2, -1, 0.5f, 1.5f, -2, 0.25f};
  struct {
    int32_t topK;
    float temperature;
  } const settings[] = {{0, 1}, {0, 0.7f}, {5, 1}};
  for (auto [topK, temperature] : settings) {
    Sampler sampler(8);
    SamplingParams params;
    params.temperature = temperature;
    params.topK = topK;
    params.seed = 2026;
    std::array<double, 8> p{};
    std::vector<float> sorted = logits;
    std::sort(sorted.rbegin(), sorted.rend());
    double sum = 0;
    for (size_t id = 0; id < 8; ++id)
      if (topK == 0 || logits[id] >= sorted[size_t(topK) - 1])
        sum += p[id] = std::exp(double(logits[id]) / temperature);
    constexpr int kDraws = 400000;
    std::array<int, 8> seen{};
    for (uint64_t position = 0; position < kDraws; ++position)
      ++seen[size_t(sampler.choose(logits.data(), params, nullptr, position).id)];
    double chi2 = 0;
    for (size_t id = 0; id < 8; ++id) {
      double expected = kDraws * p[id] / sum;
      if (expected == 0)
        EXPECT_EQ(seen[id], 0);
      else
        chi2 += (seen[id] - expected) * (seen[id] - expected) / expected;
    }
    EXPECT_LT(chi2, 24.3) << topK << " " << temperature; // 7 degrees of freedom, p = 0.001
  }
}

TEST(Sampler, seedChoiceAndPositionDecideAlone) {
  std::mt19937 random(7);
  std::vector<float> logits = randomLogits(997, random, 1);
  SamplingParams params;
  params.temperature = 1;
  params.seed = 5;
  Sampler one(997), other(997);
  std::vector<int32_t> forward, backward;
  for (uint64_t position = 0; position < 200; ++position)
    forward.push_back(one.choose(logits.data(), params, nullptr, position).id);
  for (uint64_t position = 200; position-- > 0;)
    backward.push_back(other.choose(logits.data(), params, nullptr, position).id);
  std::reverse(backward.begin(), backward.end());
  EXPECT_EQ(forward, backward);
  params.choice = 1;
  int different = 0;
  for (uint64_t position = 0; position < 200; ++position)
    different += one.choose(logits.data(), params, nullptr, position).id != forward[position];
  EXPECT_GT(different, 150);
}

TEST(Sampler, infiniteLogitsDoNotReachTheArithmetic) {
  float inf = std::numeric_limits<float>::infinity();
  Sampler sampler(4);
  SamplingParams params;
  params.temperature = 1;
  params.topP = 0.9f;
  EXPECT_EQ(sampler.choose(std::vector<float>{0, inf, 1, 2}.data(), params, nullptr, 0).id, 1);
  for (uint64_t position = 0; position < 50; ++position) {
    EXPECT_EQ(
        sampler.choose(std::vector<float>{-inf, -inf, 1, -inf}.data(), params, nullptr, position)
            .id,
        2);
    EXPECT_EQ(sampler
                  .choose(std::vector<float>{-inf, std::nanf(""), 1, -inf}.data(), params, nullptr,
                          position)
                  .id,
              2);
  }
}

TEST(Sampler, logprobsAreTheModelsOwn) {
  std::vector<float> logits = {0, 3, 1, 2};
  double norm = std::log(std::exp(0.0) + std::exp(3.0) + std::exp(1.0) + std::exp(2.0));
  Sampler sampler(4);
  SamplingParams params;
  params.topLogprobs = 2;
  params.logitBias = {{0, 100}};
  Sampler::Choice choice = sampler.choose(logits.data(), params, nullptr, 0);
  EXPECT_EQ(choice.id, 0);
  ASSERT_EQ(choice.logprobs.size(), 3u);
  EXPECT_EQ(choice.logprobs[0].id, 0);
  EXPECT_NEAR(choice.logprobs[0].logprob, 0 - norm, 1e-6);
  EXPECT_EQ(choice.logprobs[1].id, 1);
  EXPECT_NEAR(choice.logprobs[1].logprob, 3 - norm, 1e-6);
  EXPECT_EQ(choice.logprobs[2].id, 3);
  params.topLogprobs = 0;
  EXPECT_EQ(sampler.choose(logits.data(), params, nullptr, 0).logprobs.size(), 1u);
  params.topLogprobs = kMaxTopLogprobs; // more than the vocabulary size
  EXPECT_EQ(sampler.choose(logits.data(), params, nullptr, 0).logprobs.size(), 5u);
}

TEST(Sampler, onlyWhatIsAllowedIsChosen) {
  // Under any filters, a mask is equivalent to logits of -inf for the ids it excludes.
  std::mt19937 random(21);
  constexpr size_t kVocab = 1003; // not a multiple of the word size
  for (const Case &test : filterCases()) {
    Sampler sampler(kVocab);
    for (uint32_t share : {1u, 40u, 1000u}) {
      std::vector<float> logits = randomLogits(kVocab, random), masked = logits;
      std::vector<uint32_t> allowed((kVocab + 31) / 32, 0);
      allowed[kVocab / 32] |= 1u << (kVocab % 32 - 1); // always allow the last id
      for (size_t id = 0; id < kVocab; ++id)
        if (random() % 1000 < share)
          allowed[id / 32] |= 1u << (id % 32);
      for (size_t id = 0; id < kVocab; ++id)
        if (!(allowed[id / 32] >> (id % 32) & 1))
          masked[id] = -INFINITY;
      for (uint64_t position = 0; position < 20; ++position)
        EXPECT_EQ(
            sampler.choose(logits.data(), test.params, nullptr, position, nullptr, allowed).id,
            sampler.choose(masked.data(), test.params, nullptr, position).id)
            << test.name;
    }
  }
}

TEST(Sampler, anAllowedIdIsFoundWhereNoneHasAFiniteLogit) {
  Sampler sampler(40);
  std::vector<float> logits(40, 1.0f);
  logits[37] = -INFINITY;
  std::vector<uint32_t> allowed = {0, 1u << 5};
  EXPECT_EQ(sampler.choose(logits.data(), {}, nullptr, 0, nullptr, allowed).id, 37);
  logits[37] = NAN;
  EXPECT_EQ(sampler.choose(logits.data(), {}, nullptr, 0, nullptr, allowed).id, 37);
}

TEST(Sampler, nothingIsAllocatedPerToken) {
  std::mt19937 random(8);
  std::vector<float> logits = randomLogits(5003, random);
  std::vector<int32_t> prompt = {1, 2, 3};
  for (Case test : filterCases()) {
    Sampler sampler(5003);
    test.params.repetitionPenalty = 1.1f;
    test.params.topLogprobs = 5;
    TokenHistory history(prompt, 100);
    int64_t before = allocationCount();
    for (uint64_t position = 0; position < 100; ++position)
      history.add(sampler.choose(logits.data(), test.params, &history, position).id);
    EXPECT_EQ(allocationCount(), before) << test.name;
  }
}

TEST(SamplingParams, refusesValuesOutOfRange) {
  auto code = [](auto set) {
    SamplingParams params;
    set(params);
    auto checked = params.check(100);
    return checked ? std::string() : checked.error().code;
  };
  EXPECT_EQ(code([](SamplingParams &) {}), "");
  EXPECT_EQ(code([](SamplingParams &p) { p.temperature = -1; }), "E0510");
  EXPECT_EQ(code([](SamplingParams &p) { p.temperature = std::nanf(""); }), "E0510");
  EXPECT_EQ(code([](SamplingParams &p) { p.topK = -3; }), "E0510");
  EXPECT_EQ(code([](SamplingParams &p) { p.topP = 1.01f; }), "E0510");
  EXPECT_EQ(code([](SamplingParams &p) { p.minP = -0.1f; }), "E0510");
  EXPECT_EQ(code([](SamplingParams &p) { p.typicalP = 0; }), "E0510");
  EXPECT_EQ(code([](SamplingParams &p) { p.repetitionPenalty = 0; }), "E0510");
  EXPECT_EQ(code([](SamplingParams &p) { p.presencePenalty = INFINITY; }), "E0510");
  EXPECT_EQ(code([](SamplingParams &p) { p.topLogprobs = 21; }), "E0510");
  EXPECT_EQ(code([](SamplingParams &p) { p.logitBias = {{100, 1}}; }), "E0504");
  EXPECT_EQ(code([](SamplingParams &p) { p.logitBias = {{5, std::nanf("")}}; }), "E0510");
}
