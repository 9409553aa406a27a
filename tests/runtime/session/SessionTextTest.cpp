//===- SessionTextTest.cpp - Streams, stop strings, held-back bytes -------===//
#include "tests/runtime/session/FakeSession.h"

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

class SessionTextTest : public FakeSessionTest {
protected:
  FakeOptions options() override { return withTokenizer(); }

  /// Runs the request and checks that the events join to the text.
  static Completion stream(Session &session, Request wanted) {
    std::string joined;
    std::vector<int32_t> ids;
    wanted.onToken = [&](const TokenEvent &event) {
      joined += event.text;
      if (event.id >= 0)
        ids.push_back(event.id);
    };
    Completion completion = answer(session, std::move(wanted));
    EXPECT_EQ(joined, completion.text);
    EXPECT_EQ(ids, completion.ids);
    return completion;
  }
};

} // namespace

TEST_F(SessionTextTest, textIsTheDecodedIds) {
  auto session = open();
  ASSERT_NE(session->tokenizer(), nullptr);
  for (int seed = 0; seed < 20; ++seed) {
    Request wanted = request(fakePrompt(5, seed), 60);
    wanted.ignoreEos = true;
    Completion completion = stream(*session, std::move(wanted));
    // Half characters (id 95) become U+FFFD, and eos produces no text.
    EXPECT_EQ(completion.text, session->tokenizer()->decode(completion.ids));
  }
}

TEST_F(SessionTextTest, encodePromptKnowsTheVocabulary) {
  auto session = open();
  auto ids = session->encodePrompt("!a <eos>");
  ASSERT_TRUE(ids) << ids.error().format();
  EXPECT_EQ(*ids, (std::vector<int32_t>{0, 'a' - '!', 94, 96}));
}

TEST_F(SessionTextTest, bosIsPutBeforeAPromptOnce) {
  FakeOptions withBos = options();
  withBos.change = [](fb::EngineT &engine) {
    engine.text->special->bos = 96;
    engine.text->special->add_bos = true;
  };
  std::string bosPath = writeFakeEngine("bos.ingot", withBos);
  auto session = Session::open(bosPath);
  ASSERT_TRUE(session);
  EXPECT_EQ(*(*session)->encodePrompt("!"), (std::vector<int32_t>{96, 0}));
  EXPECT_EQ(*(*session)->encodePrompt("<eos>!"), (std::vector<int32_t>{96, 0}));
  std::remove(bosPath.c_str());
}

TEST_F(SessionTextTest, whatThePostProcessorPutsAroundAText) {
  FakeOptions glm = options();
  glm.change = [](fb::EngineT &engine) {
    engine.text->special->prefix = {94, 96};
    engine.text->special->suffix = {95};
    auto &named = engine.text->special->names.emplace_back(std::make_unique<fb::AttributeT>());
    named->key = "pad_token", named->value = "<pad>";
  };
  std::string path = writeFakeEngine("glm.ingot", glm);
  auto session = Session::open(path);
  ASSERT_TRUE(session);
  EXPECT_EQ(*(*session)->encodePrompt("!"), (std::vector<int32_t>{94, 96, 0}));
  EXPECT_EQ(*(*session)->encodePrompt(" <eos>!"), (std::vector<int32_t>{94, 96, 0})) << "once";
  EXPECT_EQ(*(*session)->encodeToFit("!", PromptText::Embedded),
            (std::vector<int32_t>{94, 96, 0, 95}));
  EXPECT_EQ(*(*session)->encodeToFit("!", PromptText::Rendered), (std::vector<int32_t>{0}));
  const text::ChatTemplate::Options tokens = (*session)->templateTokens();
  ASSERT_EQ(tokens.tokens.size(), 1u);
  EXPECT_EQ(tokens.tokens[0].second, "<pad>");
  EXPECT_EQ(tokens.bosToken, "") << "the files name none";
  std::remove(path.c_str());
}

TEST_F(SessionTextTest, stopStringsEndTheTextBeforeThem) {
  auto session = open();
  for (int seed = 0; seed < 10; ++seed) {
    Request whole = request(fakePrompt(5, seed), 60);
    whole.ignoreEos = true;
    std::string text = stream(*session, std::move(whole)).text;
    for (size_t length : {1u, 2u, 5u}) {
      std::string stop = text.substr(20, length);
      if (stop.find('\xEF') != std::string::npos || stop.find('\xBF') != std::string::npos ||
          stop.find('\xBD') != std::string::npos)
        continue; // part of a replacement character
      Request wanted = request(fakePrompt(5, seed), 60);
      wanted.ignoreEos = true;
      wanted.stopStrings = {"never said", stop};
      Completion completion = stream(*session, std::move(wanted));
      EXPECT_EQ(completion.text, text.substr(0, text.find(stop)));
      EXPECT_EQ(completion.finishReason, FinishReason::Stop);
      EXPECT_LT(completion.ids.size(), 60u);
    }
  }
}

TEST_F(SessionTextTest, aStopThatNeverComesHoldsNothingBackAtTheEnd) {
  auto session = open();
  Request whole = request(fakePrompt(5, 3), 30);
  whole.ignoreEos = true;
  std::string text = stream(*session, std::move(whole)).text;
  Request wanted = request(fakePrompt(5, 3), 30);
  wanted.ignoreEos = true;
  wanted.stopStrings = {text.substr(text.size() - 3) + "and more"}; // its start is held back
  Completion completion = stream(*session, std::move(wanted));
  EXPECT_EQ(completion.text, text);
  EXPECT_EQ(completion.finishReason, FinishReason::Length);
}

TEST_F(SessionTextTest, aCancelledStreamGivesWhatItHeld) {
  auto session = open();
  std::vector<int32_t> prompt;
  for (int seed = 0; prompt.empty(); ++seed) // the fifth id is half a character
    if (fakeGreedy(fakePrompt(4, seed), 5, true).size() == 5 &&
        fakeGreedy(fakePrompt(4, seed), 5, true)[4] == 95)
      prompt = fakePrompt(4, seed);
  std::atomic<bool> cancel{false};
  std::string joined;
  int events = 0;
  Request wanted = request(prompt, 50);
  wanted.cancel = &cancel;
  wanted.onToken = [&](const TokenEvent &event) {
    joined += event.text;
    if (event.id >= 0 && ++events == 5) {
      EXPECT_EQ(event.text, "");
      cancel = true;
    }
  };
  Completion completion = answer(*session, std::move(wanted));
  EXPECT_EQ(completion.ids.size(), 5u);
  EXPECT_EQ(completion.text, joined);
  EXPECT_TRUE(completion.text.ends_with("\xEF\xBF\xBD"));
}
