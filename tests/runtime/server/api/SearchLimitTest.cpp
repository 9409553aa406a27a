//===- SearchLimitTest.cpp - Requests that can never fit are refused ---------===//
#include "tests/runtime/server/api/ApiTest.h"

using namespace ingot;
using namespace ingot::test;

namespace {

class ApiSearchLimit : public ApiTest {
protected:
  FakeOptions options() override {
    FakeOptions made = ApiTest::options();
    made.states = true;
    return made;
  }
};

} // namespace

TEST_F(ApiSearchLimit, statesOfSeveralPrompts) {
  runtime::SessionOptions session;
  session.maxSeqs = 4;
  session.context = 256;
  session.stateBytes = 2000; // 125 states of four values
  serve(session, "{% for m in messages %}{{ m.content }}{% endfor %}");
  auto codeOf = [&](const char *prompt, int64_t maxTokens, int status) {
    return at(ask("/v1/completions",
                  std::string("{\"prompt\":") + prompt +
                      ",\"max_tokens\":" + std::to_string(maxTokens) + ",\"penalty_alpha\":0.6}",
                  status),
              status == 200 ? "/object" : "/error/code");
  };
  EXPECT_EQ(codeOf("[1,2,3]", 100, 200), "text_completion");
  EXPECT_EQ(codeOf("[[1,2,3],[4,5,6]]", 50, 200), "text_completion");
  EXPECT_EQ(codeOf("[[1,2,3],[4,5,6]]", 60, 400), "E0534"); // not 429: it can never fit
  EXPECT_EQ(codeOf("[1,2,3]", 200, 400), "E0534");
  EXPECT_EQ(
      at(ask("/v1/completions", R"({"prompt":[[1],[2]],"max_tokens":60,"penalty_alpha":0.6})", 400),
         "/error/param"),
      "penalty_alpha");
  EXPECT_EQ(codeOf("[[1,2,3],[4,5,6]]", 1000000, 400), "context_length_exceeded");
}
