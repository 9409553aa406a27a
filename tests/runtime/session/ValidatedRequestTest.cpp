//===- ValidatedRequestTest.cpp - A request is checked once, and stays so ---===//
#include "tests/runtime/session/FakeSession.h"

#include <thread>
#include <type_traits>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

// Only Session::validate makes a ValidatedRequest. Only its hooks can change, and each is submitted once.
static_assert(!std::is_default_constructible_v<ValidatedRequest>);
static_assert(!std::is_constructible_v<ValidatedRequest, Request>);
static_assert(!std::is_constructible_v<ValidatedRequest, const Session &,
                                       std::shared_ptr<const RequestSettings>, std::vector<int32_t>,
                                       int32_t>);
static_assert(!std::is_copy_constructible_v<ValidatedRequest>);
static_assert(std::is_nothrow_move_constructible_v<ValidatedRequest>);
using Given = ValidatedRequest &;
static_assert(std::is_same_v<decltype(std::declval<Given>().settings()), const RequestSettings &>);
static_assert(
    std::is_same_v<decltype(std::declval<Given>().promptIds()), const std::vector<int32_t> &>);

class ValidatedRequestTest : public FakeSessionTest {
protected:
  std::unique_ptr<Session> openNarrow() {
    SessionOptions options;
    options.context = 100;
    options.maxSeqs = 2;
    return open(options);
  }
  /// Expects the same refusal of a request that is submitted, of one that is validated, and of a
  /// valid request that gets its prompt.
  static void expectRefused(Session &session, const Request &bad, const char *code,
                            const char *why) {
    auto submitted = session.submit(bad);
    auto validated = session.validate(bad);
    ASSERT_FALSE(submitted || validated);
    EXPECT_EQ(submitted.error().code, code);
    EXPECT_EQ(submitted.error().exit, ExitCode::Usage);
    EXPECT_NE(submitted.error().why.find(why), std::string::npos) << submitted.error().format();
    EXPECT_EQ(validated.error().format(), submitted.error().format());
    Request good = bad;
    good.promptIds = {1};
    auto first = session.validate(good);
    ASSERT_TRUE(first) << first.error().format();
    auto second = session.validate(*first, bad.promptIds);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().format(), submitted.error().format());
  }
};

} // namespace

TEST_F(ValidatedRequestTest, badPromptsAreRefusedInTheSameWords) {
  auto session = openNarrow();
  expectRefused(*session, request({}, 5), "E0503", "0 ids given, at least 1 is needed");
  expectRefused(*session, request({3, 97}, 5), "E0504", "id 97 at index 1");
  expectRefused(*session, request(fakePrompt(101, 1), -1), "E0505", "the context has 100");
  expectRefused(*session, request(fakePrompt(60, 1), 50), "E0505", "109 positions");
}

TEST_F(ValidatedRequestTest, promptsShareTheSettingsAndHaveAnswersOfTheirOwn) {
  auto session = openNarrow();
  Request wanted = request(fakePrompt(20, 1), 10);
  wanted.ignoreEos = true;
  int heard = 0;
  wanted.onToken = [&](const TokenEvent &) { ++heard; };
  auto first = session->validate(wanted, 2);
  ASSERT_TRUE(first) << first.error().format();
  auto second = session->validate(*first, fakePrompt(30, 2));
  ASSERT_TRUE(second) << second.error().format();
  EXPECT_EQ(&first->settings(), &second->settings());
  EXPECT_EQ(first->promptIds(), fakePrompt(20, 1));
  EXPECT_EQ(second->promptIds(), fakePrompt(30, 2));
  EXPECT_EQ(first->choices(), 2);
  EXPECT_EQ(second->choices(), 2);
  EXPECT_FALSE(second->hooks.onToken);

  auto of1 = session->submit(std::move(*first));
  auto of2 = session->submit(std::move(*second));
  ASSERT_TRUE(of1 && of2);
  ASSERT_EQ(of1->size(), 2u);
  ASSERT_EQ(of2->size(), 2u);
  session->runUntilDone();
  for (RequestId id : *of1)
    EXPECT_EQ(session->take(id).ids, fakeGreedy(fakePrompt(20, 1), 10, false));
  for (RequestId id : *of2)
    EXPECT_EQ(session->take(id).ids, fakeGreedy(fakePrompt(30, 2), 10, false));
  EXPECT_EQ(heard, 20);
}

/// Validation does not need the session's thread and can run during steps.
TEST_F(ValidatedRequestTest, canBeMadeOnAnyThread) {
  auto session = openNarrow();
  Request endless = request(fakePrompt(20, 1), 60);
  endless.ignoreEos = true;
  auto id = session->submit(endless);
  ASSERT_TRUE(id);
  std::vector<ValidatedRequest> made;
  std::thread other([&] {
    for (int i = 0; i < 20; ++i)
      made.push_back(validated(*session, request(fakePrompt(5 + i, i), 8)));
  });
  session->runUntilDone();
  other.join();
  EXPECT_EQ(session->take(*id).ids, fakeGreedy(fakePrompt(20, 1), 60, false));
  for (int i = 0; i < 20; ++i) {
    auto ids = session->submit(std::move(made[size_t(i)]));
    ASSERT_TRUE(ids) << ids.error().format();
    session->runUntilDone();
    EXPECT_EQ(session->take(ids->front()).ids, fakeGreedy(fakePrompt(5 + i, i), 8, true));
  }
}
