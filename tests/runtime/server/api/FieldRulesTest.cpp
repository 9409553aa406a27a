//===- FieldRulesTest.cpp - Ambiguous bodies, and names in errors ---------------------===//
#include "tests/runtime/server/api/ApiTest.h"

using namespace ingot;
using namespace ingot::test;

namespace {

class ApiFieldRules : public ApiTest {
protected:
  void SetUp() override {
    ApiTest::SetUp();
    serve({}, "{% for m in messages %}{{ m.content }}{% endfor %}");
  }
  std::string refusal(const char *path, const std::string &body) {
    return at(ask(path, body, 400), "/error/message");
  }
};

} // namespace

TEST_F(ApiFieldRules, AKeyThatStandsTwiceIsRefused) {
  EXPECT_EQ(refusal("/v1/completions", R"({"prompt":[1],"max_tokens":1,"max_tokens":3})"),
            "max_tokens: duplicate key");
  EXPECT_EQ(refusal("/v1/chat/completions",
                    R"({"messages":[{"role":"user","content":"a","content":"b"}],"max_tokens":1})"),
            "messages[0].content: duplicate key");
  EXPECT_EQ(refusal("/v1/chat/completions", R"({"messages":[],"stop":"x","messages":[]})"),
            "messages: duplicate key");
  // The same key in two different objects is allowed.
  ask("/v1/chat/completions",
      R"({"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}],"max_tokens":1})");
}

TEST_F(ApiFieldRules, AnEmptyStopIsRefused) {
  EXPECT_EQ(refusal("/v1/completions", R"({"prompt":[1],"stop":""})"),
            "stop: must not be an empty string");
  EXPECT_EQ(refusal("/v1/completions", R"({"prompt":[1],"stop":["a",""]})"),
            "stop: must not be an empty string");
}

TEST_F(ApiFieldRules, AnthropicsErrorsNameTheirFieldOnce) {
  EXPECT_EQ(refusal("/v1/messages", R"({"messages":[{"role":"user","content":"a"}]})"),
            "max_tokens: is required");
}

TEST_F(ApiFieldRules, ModelsAreListedAndNamed) {
  EXPECT_EQ(at(ask("/v1/models/", ""), "/data/0/id"), "m");
  EXPECT_EQ(at(ask("/v1/models/m", ""), "/id"), "m");
  EXPECT_EQ(
      at(ask("/v1/models/x", "", 404), "/error/message"),
      "no model has that name; available: m; `ingot serve --any-model-name` accepts any name");
}

namespace {
using ApiWithoutTemplate = ApiTest;
} // namespace

TEST_F(ApiWithoutTemplate, IsToldTheWayOn) {
  serve({}, "");
  const auto refused =
      ask("/v1/chat/completions", R"({"messages":[{"role":"user","content":"a"}]})", 400);
  EXPECT_EQ(at(refused, "/error/code"), "E0521");
  for (const char *way : {"--chat-template", "/v1/completions"})
    EXPECT_NE(at(refused, "/error/message").find(way), std::string::npos)
        << at(refused, "/error/message");
}
