//===- SessionErrorTest.cpp - Every refusal names the limit ---------------===//
#include "tests/runtime/session/FakeSession.h"

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

class SessionErrorTest : public FakeSessionTest {
protected:
  /// Returns the error of opening a session with these options.
  Error refused(const SessionOptions &options) {
    auto session = Session::open(path, options);
    EXPECT_FALSE(session);
    return session ? Error{} : session.error();
  }
  static Error refused(Session &session, Request request) {
    auto id = session.submit(std::move(request));
    EXPECT_FALSE(id);
    return id ? Error{} : id.error();
  }
  static bool has(const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
  }
};

} // namespace

TEST_F(SessionErrorTest, limitsThatMakeNoSense) {
  SessionOptions options;
  options.context = 2049;
  Error error = refused(options);
  EXPECT_EQ(error.code, "E0501");
  EXPECT_EQ(error.exit, ExitCode::Usage);
  EXPECT_TRUE(has(error.why, "--context 2049") && has(error.why, "1 to 2048")) << error.why;
  for (auto set :
       {+[](SessionOptions &o) { o.context = -1; }, +[](SessionOptions &o) { o.maxSeqs = 0; },
        +[](SessionOptions &o) { o.maxBatchTokens = -1; },
        +[](SessionOptions &o) { o.logitsRows = -4; }, +[](SessionOptions &o) { o.threads = -1; },
        +[](SessionOptions &o) { o.prefillChunk = -1; },
        +[](SessionOptions &o) { o.maxSeqs = int64_t(1) << 40; },
        +[](SessionOptions &o) { o.isa = "avx1024"; }}) {
    SessionOptions bad;
    set(bad);
    EXPECT_EQ(refused(bad).code, "E0501");
  }
}

TEST_F(SessionErrorTest, memoryThatIsNotThere) {
  SessionOptions options;
  options.context = 2048;
  options.maxSeqs = 1 << 20; // 2^26 pages of 8 KiB: 512 GiB
  Error error = refused(options);
  EXPECT_EQ(error.code, "E0502");
  EXPECT_EQ(error.exit, ExitCode::File);
  EXPECT_TRUE(has(error.why, "KV 512.0 GiB") && has(error.why, "available")) << error.why;
}

TEST_F(SessionErrorTest, aFileThatIsNoEngine) {
  auto session = Session::open(path + ".missing");
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().exit, ExitCode::File);
}

TEST_F(SessionErrorTest, idsAndLengths) {
  SessionOptions options;
  options.context = 100;
  auto session = open(options);

  EXPECT_EQ(refused(*session, request({}, 5)).code, "E0503");
  Error error = refused(*session, request({3, 97}, 5));
  EXPECT_EQ(error.code, "E0504");
  EXPECT_EQ(error.exit, ExitCode::Usage);
  EXPECT_TRUE(has(error.why, "id 97 at index 1") && has(error.why, "0 to 96")) << error.why;
  EXPECT_EQ(refused(*session, request({-1}, 5)).code, "E0504");

  error = refused(*session, request(fakePrompt(101, 1), -1));
  EXPECT_EQ(error.code, "E0505");
  EXPECT_EQ(error.what, "the prompt is longer than the context");
  EXPECT_TRUE(has(error.why, "101 prompt ids, the context has 100: 1 too many")) << error.why;
  error = refused(*session, request(fakePrompt(60, 1), 50));
  EXPECT_EQ(error.code, "E0505");
  EXPECT_TRUE(has(error.why, "109 positions") && has(error.fix, "-n 41")) << error.format();
  EXPECT_TRUE(session->submit(request(fakePrompt(60, 1), 41)));

  EXPECT_EQ(refused(*session, request({1}, 0)).code, "E0501");
  EXPECT_EQ(refused(*session, request({1}, -2)).code, "E0501");
  Request stop = request({1}, 5);
  stop.stopIds = {400};
  EXPECT_EQ(refused(*session, std::move(stop)).code, "E0504");
  Request sampling = request({1}, 5);
  sampling.sampling.topP = 2;
  EXPECT_EQ(refused(*session, std::move(sampling)).code, "E0510");
  Request words = request({1}, 5);
  words.ids.forbidden = {{3}, {}, {4, 5}};
  error = refused(*session, std::move(words));
  EXPECT_EQ(error.code, "E0575");
  EXPECT_EQ(error.why, "number 1 of 3 has no ids");
}

TEST_F(SessionErrorTest, moreThanTheKvMemoryHolds) {
  SessionOptions options;
  options.kvMemoryBytes = 3 * kFakePage + 5; // 3 pages
  auto session = open(options);
  Error error = refused(*session, request(fakePrompt(90, 1), 20));
  EXPECT_EQ(error.code, "E0506");
  EXPECT_TRUE(has(error.why, "= 4 pages of 32, there are 3")) << error.why;
  EXPECT_EQ(answer(*session, request(fakePrompt(90, 1), 7)).ids,
            fakeGreedy(fakePrompt(90, 1), 7, true));
}

TEST_F(SessionErrorTest, textWithoutATokenizer) {
  auto session = open();
  EXPECT_EQ(session->tokenizer(), nullptr);
  auto ids = session->encodePrompt("hello");
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().code, "E0520");
  Request stop = request({1}, 5);
  stop.stopStrings = {"x"};
  EXPECT_EQ(refused(*session, std::move(stop)).code, "E0520");
}
