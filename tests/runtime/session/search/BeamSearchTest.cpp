//===- BeamSearchTest.cpp - Beams through a session, against brute force ----===//
#include "runtime/session/search/RowRanking.h"
#include "runtime/text/Grammar.h"
#include "tests/runtime/session/FakeSession.h"
#include "tests/runtime/session/search/Reference.h"

#include <algorithm>
#include <cmath>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

class BeamSearchTest : public FakeSessionTest {
protected:
  FakeOptions options() override { return withTokenizer(); }
  std::unique_ptr<Session> openWide(int64_t rows = 8, int threads = 1) {
    SessionOptions options;
    options.maxSeqs = rows;
    options.context = 256;
    options.threads = threads;
    return open(options);
  }
  static Request beams(std::vector<int32_t> prompt, int64_t maxTokens, BeamParams params) {
    Request wanted = request(std::move(prompt), maxTokens);
    wanted.beams = params;
    wanted.sampling.topLogprobs = 0;
    return wanted;
  }
  static std::vector<Completion> answers(Session &session, Request wanted, int32_t choices) {
    auto ids = session.submit(std::move(wanted), choices);
    EXPECT_TRUE(ids) << ids.error().format();
    session.runUntilDone();
    std::vector<Completion> found;
    for (RequestId id : *ids)
      found.push_back(session.take(id));
    EXPECT_EQ(session.stats().pagesUsed, 0);
    EXPECT_EQ(session.stats().running + session.stats().waiting, 0);
    return found;
  }
  static void expectFound(const std::vector<Completion> &answers, const std::vector<Found> &found,
                          const std::set<int32_t> &ends) {
    ASSERT_LE(answers.size(), found.size());
    for (size_t i = 0; i < answers.size(); ++i) {
      std::vector<int32_t> ids = found[i].ids;
      const bool stops = ends.contains(ids.back());
      EXPECT_EQ(answers[i].finishReason, stops ? FinishReason::Stop : FinishReason::Length);
      if (stops)
        ids.pop_back();
      EXPECT_EQ(answers[i].ids, ids) << i;
      EXPECT_EQ(answers[i].drawn, int64_t(found[i].ids.size()));
      double sum = 0;
      for (const auto &row : answers[i].logprobs)
        sum += double(row[0].logprob);
      if (!stops)
        EXPECT_NEAR(sum, found[i].sum, 1e-5);
    }
  }
};

} // namespace

TEST_F(BeamSearchTest, answersAsTheReference) {
  auto session = openWide();
  for (int seed = 0; seed < 6; ++seed)
    for (int32_t width : {1, 2, 3, 8})
      for (double penalty : {0.0, 1.0, 2.5, -1.0})
        for (EarlyStopping early : {EarlyStopping::No, EarlyStopping::Yes, EarlyStopping::Never}) {
          const std::vector<int32_t> prompt = fakePrompt(5 + seed * 11, seed);
          const int64_t most = 3 + seed * 3;
          const BeamParams params{width, penalty, early};
          // Several ids end an answer, so answers of all lengths occur.
          Request wanted = beams(prompt, most, params);
          std::set<int32_t> ends{kFakeEos};
          for (int32_t id = 0; id < 96 && seed % 2; id += 7) {
            wanted.stopIds.push_back(id);
            ends.insert(id);
          }
          expectFound(answers(*session, std::move(wanted), width),
                      beamsAlone(prompt, most, params, ends), ends);
          ASSERT_FALSE(HasFailure()) << seed << " " << width << " " << penalty << " " << int(early);
        }
}

/// With as many beams as ids, the search misses no answer of length 2.
TEST_F(BeamSearchTest, findsTheBestOfAllThereIs) {
  auto session = openWide();
  const std::vector<int32_t> vocabulary{3, 14, 15, 22, 60, 65, 80, kFakeEos};
  for (int seed = 0; seed < 10; ++seed) {
    const std::vector<int32_t> prompt = fakePrompt(12, seed);
    Request wanted = beams(prompt, 2, {8, 1.0, EarlyStopping::Never});
    wanted.onLogits = [&](const LogitsRow &row) {
      for (int32_t id = 0; id < kFakeVocab; ++id)
        if (std::ranges::find(vocabulary, id) == vocabulary.end())
          row.logits[size_t(id)] = -1e30f;
    };
    auto found = answers(*session, std::move(wanted), 8);
    std::vector<Found> all;
    auto renormed = [&](const std::vector<int32_t> &ids) {
      std::vector<double> logprobs = fakeLogprobs(ids);
      double sum = 0;
      for (int32_t id : vocabulary)
        sum += std::exp(logprobs[size_t(id)]);
      for (double &one : logprobs)
        one -= std::log(sum);
      return logprobs;
    };
    std::vector<double> first = renormed(prompt);
    for (int32_t a : vocabulary) {
      if (a == kFakeEos) {
        all.push_back({{a}, first[size_t(a)], first[size_t(a)]});
        continue;
      }
      std::vector<int32_t> longer = prompt;
      longer.push_back(a);
      std::vector<double> second = renormed(longer);
      for (int32_t b : vocabulary) {
        const double sum = first[size_t(a)] + second[size_t(b)];
        all.push_back({{a, b}, sum, sum / 2});
      }
    }
    sortBy(all, &Found::score);
    expectFound(found, all, {kFakeEos});
    ASSERT_FALSE(HasFailure()) << seed;
  }
}

TEST_F(BeamSearchTest, widthOneIsGreedy) {
  auto session = openWide();
  for (int seed = 0; seed < 8; ++seed) {
    const std::vector<int32_t> prompt = fakePrompt(20, seed);
    auto found = answers(*session, beams(prompt, 15, {}), 1);
    EXPECT_EQ(found[0].ids, fakeGreedy(prompt, 15, true));
  }
}

TEST_F(BeamSearchTest, fewerAnswersThanBeams) {
  auto session = openWide();
  const std::vector<int32_t> prompt = fakePrompt(20, 3);
  auto all = answers(*session, beams(prompt, 12, {4}), 4);
  auto two = answers(*session, beams(prompt, 12, {4}), 2);
  ASSERT_EQ(two.size(), 2u);
  for (size_t i = 0; i < 2; ++i)
    expectEqual(two[i], all[i]);
}

TEST_F(BeamSearchTest, answersTheSameInABatch) {
  auto alone = openWide();
  auto mixed = openWide(8, 2);
  std::vector<std::vector<Completion>> expected;
  std::vector<std::vector<RequestId>> ids;
  std::vector<RequestId> plain;
  for (int i = 0; i < 6; ++i) {
    Request wanted = beams(fakePrompt(10 + i * 9, i), 20 + i, {2 + i % 3});
    wanted.sampling.topLogprobs = 3;
    expected.push_back(answers(*alone, wanted, 2));
    auto two = mixed->submit(wanted, 2);
    ASSERT_TRUE(two) << two.error().format();
    ids.push_back(*two);
    Request greedy = request(fakePrompt(10 + i * 9, i), 25);
    greedy.ignoreEos = true;
    plain.push_back(*mixed->submit(greedy));
  }
  mixed->runUntilDone();
  for (size_t i = 0; i < ids.size(); ++i) {
    for (size_t k = 0; k < 2; ++k)
      expectEqual(mixed->take(ids[i][k]), expected[i][k]);
    EXPECT_EQ(mixed->take(plain[i]).ids,
              fakeGreedy(fakePrompt(10 + int(i) * 9, int(i)), 25, false));
  }
  EXPECT_EQ(mixed->stats().pagesUsed, 0);
}

/// There are too few pages for all beams, with preemption by swap and by recompute.
TEST_F(BeamSearchTest, preemptedBeamsAnswerAsAlone) {
  auto wantedOf = [](int i) {
    Request wanted = beams(fakePrompt(20 + i * 9, i), 60, {3, 1.0, EarlyStopping::Never});
    wanted.ignoreEos = true;
    wanted.sampling.topLogprobs = 1;
    return wanted;
  };
  auto alone = openWide();
  std::vector<std::vector<Completion>> expected;
  for (int i = 0; i < 5; ++i)
    expected.push_back(answers(*alone, wantedOf(i), 3));
  for (uint64_t swapPages : {0, 3, 100}) {
    SessionOptions options;
    options.maxSeqs = 8;
    options.context = 256;
    options.kvMemoryBytes = 12 * kFakePage;
    options.swapBytes = swapPages * kFakePage;
    auto session = open(options);
    std::vector<std::vector<RequestId>> ids;
    for (int i = 0; i < 5; ++i) {
      auto three = session->submit(wantedOf(i), 3);
      ASSERT_TRUE(three) << three.error().format();
      ids.push_back(*three);
      Request plain = request(fakePrompt(30, 50 + i), 120);
      plain.ignoreEos = true;
      ASSERT_TRUE(session->submit(plain));
    }
    session->runUntilDone();
    for (size_t i = 0; i < ids.size(); ++i)
      for (size_t k = 0; k < 3; ++k)
        expectEqual(session->take(ids[i][k]), expected[i][k]);
    EXPECT_GT(session->stats().preemptions, 3u) << swapPages;
    EXPECT_EQ(session->stats().pagesUsed, 0);
    EXPECT_EQ(session->stats().swapBytesUsed, 0u);
  }
}

TEST_F(BeamSearchTest, cancellingFreesEverything) {
  for (int steps : {0, 1, 2, 9, 25}) {
    SessionOptions options;
    options.maxSeqs = 4;
    options.context = 256;
    options.maxBatchTokens = 40; // a prompt of two steps
    auto session = open(options);
    std::atomic<bool> cancel = false;
    Request wanted = beams(fakePrompt(50, 2), 80, {4});
    wanted.ignoreEos = true;
    wanted.cancel = &cancel;
    auto ids = session->submit(wanted, 3);
    ASSERT_TRUE(ids);
    Request other = request(fakePrompt(40, 7), 20);
    other.ignoreEos = true;
    auto plain = session->submit(other);
    for (int i = 0; i < steps; ++i)
      session->step();
    cancel = true;
    session->runUntilDone();
    for (RequestId id : *ids) {
      ASSERT_TRUE(session->finished(id));
      EXPECT_EQ(session->take(id).finishReason, FinishReason::Cancelled);
    }
    EXPECT_EQ(session->take(*plain).ids, fakeGreedy(fakePrompt(40, 7), 20, false));
    EXPECT_EQ(session->stats().pagesUsed, 0);
    EXPECT_EQ(session->stats().running + session->stats().waiting, 0);
  }
}

TEST_F(BeamSearchTest, promptsComeFromTheCache) {
  auto session = openWide();
  const std::vector<int32_t> prompt = fakePrompt(100, 1);
  auto miss = answers(*session, beams(prompt, 30, {3}), 3);
  auto hit = answers(*session, beams(prompt, 30, {3}), 3);
  EXPECT_EQ(miss[0].cachedTokens, 0);
  EXPECT_EQ(hit[0].cachedTokens, 96);
  for (size_t i = 0; i < 3; ++i)
    expectEqual(hit[i], miss[i]);
}

TEST_F(BeamSearchTest, stopStringsEndBeams) {
  auto session = openWide();
  Request wanted = beams(fakePrompt(20, 5), 12, {3, 0.0}); // short ones are favoured
  wanted.ignoreEos = true;
  const std::string plain = answers(*session, wanted, 1)[0].text;
  wanted.stopStrings = {plain.substr(4, 2)}; // the string spans two ids
  auto found = answers(*session, wanted, 3);
  for (const Completion &one : found) {
    EXPECT_EQ(one.text.find(wanted.stopStrings[0]), std::string::npos);
    EXPECT_EQ(one.finishReason == FinishReason::Stop, !one.stopString.empty());
  }
  EXPECT_TRUE(
      std::ranges::any_of(found, [](const Completion &c) { return !c.stopString.empty(); }));
}

TEST_F(BeamSearchTest, aGrammarHoldsForEveryBeam) {
  auto session = openWide();
  auto vocabulary =
      text::Vocabulary::create(*session->tokenizer(), kFakeVocab, std::vector<int32_t>{kFakeEos});
  ASSERT_TRUE(vocabulary) << vocabulary.error().format();
  auto compile = [&](text::GrammarKind kind, const char *source) {
    auto grammar = text::Grammar::compile(**vocabulary, kind, source);
    EXPECT_TRUE(grammar) << grammar.error().format();
    return *grammar;
  };
  Request wanted = beams(fakePrompt(20, 5), 30, {4});
  wanted.grammar = compile(text::GrammarKind::Regex, "(a|b)[0-9]{3}(x|yz)");
  auto found = answers(*session, wanted, 4);
  std::set<std::string> texts;
  for (const Completion &one : found) {
    EXPECT_EQ(one.finishReason, FinishReason::Stop);
    ASSERT_GE(one.text.size(), 5u) << one.text;
    EXPECT_TRUE(one.text[0] == 'a' || one.text[0] == 'b') << one.text;
    EXPECT_TRUE(one.text.ends_with("x") || one.text.ends_with("yz")) << one.text;
    texts.insert(one.text);
  }
  EXPECT_EQ(texts.size(), 4u) << "beams are alike";
  // If there are fewer answers than requested, the others are empty.
  wanted.grammar = compile(text::GrammarKind::Choice, R"(["yes","no"])");
  found = answers(*session, wanted, 3);
  std::multiset<std::string> said;
  for (const Completion &one : found)
    said.insert(one.text);
  EXPECT_EQ(said, (std::multiset<std::string>{"", "no", "yes"}));
}

TEST_F(BeamSearchTest, biasIsPartOfTheScore) {
  auto session = openWide();
  Request wanted = beams(fakePrompt(20, 5), 6, {3});
  wanted.sampling.logitBias = {{17, 100.0f}};
  EXPECT_EQ(answers(*session, wanted, 1)[0].ids, std::vector<int32_t>(6, 17));
  wanted.sampling.logitBias = {{17, -100.0f}};
  for (const Completion &one : answers(*session, wanted, 3))
    EXPECT_EQ(std::ranges::count(one.ids, 17), 0);
}

/// Rows of log-probabilities have the same width, however many ids a hook leaves in each.
TEST_F(BeamSearchTest, hooksThatLeaveFewIdsKeepTheWidth) {
  auto session = openWide();
  Request wanted = beams(fakePrompt(20, 5), 6, {2});
  wanted.ignoreEos = true;
  wanted.sampling.topLogprobs = 5;
  wanted.onLogits = [](const LogitsRow &row) {
    for (size_t id = 0; id < row.logits.size() && row.ids.size() < 3; ++id)
      if (id != 17 && id != 40)
        row.logits[id] = id % 2 ? -INFINITY : NAN;
  };
  for (const Completion &one : answers(*session, wanted, 2)) {
    ASSERT_EQ(one.logprobs.size(), 6u);
    for (size_t i = 0; i < 6; ++i) {
      const auto &row = one.logprobs[i];
      ASSERT_EQ(row.size(), 6u) << i;
      EXPECT_EQ(row[0].id, one.ids[i]);
      std::set<int32_t> ids;
      for (size_t k = 1; k < 6; ++k)
        ids.insert(row[k].id);
      EXPECT_EQ(ids.size(), 5u) << i;
      EXPECT_TRUE(i >= 3 || (ids.contains(17) && ids.contains(40)));
      for (size_t k = 3; k < 6; ++k)
        EXPECT_EQ(row[k].logprob == -INFINITY, i < 3) << i << " " << k;
    }
  }
}

/// No NaN reaches the comparison of beams.
TEST_F(BeamSearchTest, rowsWithoutAFiniteChoice) {
  auto session = openWide();
  auto idsOf = [&](float all, std::optional<float> of17) {
    Request wanted = beams(fakePrompt(20, 5), 5, {3});
    wanted.ignoreEos = true;
    wanted.sampling.topLogprobs = 2;
    wanted.onLogits = [=](const LogitsRow &row) {
      if (all != 0)
        std::ranges::fill(row.logits, all);
      if (of17)
        row.logits[17] = *of17;
    };
    return answers(*session, wanted, 1)[0].ids;
  };
  EXPECT_EQ(idsOf(-INFINITY, {}), std::vector<int32_t>(5, 0)); // the lowest id, as in a draw
  EXPECT_EQ(idsOf(NAN, {}), std::vector<int32_t>(5, 0));
  EXPECT_EQ(idsOf(0, INFINITY), std::vector<int32_t>(5, 17));
  EXPECT_EQ(idsOf(NAN, 1.0f), std::vector<int32_t>(5, 17));

  RowRanking ranking(4);
  const float forced[] = {1, INFINITY, NAN, 2};
  const auto best = ranking.best(forced, 3, {}, {});
  ASSERT_EQ(best.size(), 3u);
  EXPECT_EQ(best[0].id, 1);
  EXPECT_EQ(best[0].logprob, 0);
  EXPECT_EQ(best[1].id, 3);
  EXPECT_EQ(best[1].logprob, -INFINITY);
  const float nothing[] = {NAN, -INFINITY, NAN, -INFINITY};
  ASSERT_EQ(ranking.best(nothing, 3, {}, {}).size(), 1u);
  EXPECT_EQ(ranking.best(nothing, 3, {}, {})[0].logprob, -INFINITY);
  EXPECT_EQ(ranking.likeliest(nothing, 9).size(), 4u); // the row has four
}

TEST_F(BeamSearchTest, refusesWhatCannotBe) {
  auto session = openWide(4);
  auto codeOf = [&](Request wanted, int32_t choices = 1) {
    auto ids = session->submit(std::move(wanted), choices);
    return ids ? std::string() : ids.error().code;
  };
  const std::vector<int32_t> prompt = fakePrompt(20, 1);
  for (BeamParams bad : {BeamParams{0}, BeamParams{9}, BeamParams{2, 9.0}, BeamParams{2, NAN}})
    EXPECT_EQ(codeOf(beams(prompt, 5, bad)), "E0530");
  EXPECT_EQ(codeOf(beams(prompt, 5, {2}), 3), "E0535");
  EXPECT_EQ(codeOf(beams(prompt, 5, {5})), "E0533");
  EXPECT_EQ(codeOf(beams(prompt, 300, {2})), "E0505");
  Request both = beams(prompt, 5, {2});
  both.contrastive.emplace();
  EXPECT_EQ(codeOf(both), "E0532");
  Request promptAlone = beams(prompt, 5, {2});
  promptAlone.promptOnly = true;
  EXPECT_EQ(codeOf(promptAlone), "E0536");
  // The check of the worst case of all beams is exact to the page.
  SessionOptions options;
  options.maxSeqs = 4;
  options.context = 256;
  options.kvMemoryBytes = 9 * kFakePage;
  session = open(options);
  // 40 + 88 - 1 positions need a shared page and three more pages for each beam, of which there are two or
  // three.
  EXPECT_EQ(codeOf(beams(fakePrompt(40, 1), 88, {2})), "");
  EXPECT_EQ(codeOf(beams(fakePrompt(40, 1), 88, {3})), "E0506");
  EXPECT_EQ(codeOf(beams(fakePrompt(40, 1), 57, {4})), "");
  EXPECT_EQ(codeOf(beams(fakePrompt(40, 1), 58, {4})), "E0506");
  session->runUntilDone();
  EXPECT_EQ(session->stats().pagesUsed, 0);
  Request open = beams(fakePrompt(40, 1), -1, {4}); // as many as fit
  open.ignoreEos = true;
  EXPECT_EQ(answers(*session, open, 1)[0].ids.size(), 57u);
}
