//===- FieldRulesTest.cpp - Ambiguous bodies, and names in errors ---------------------===//
#include "runtime/sample/SamplingFields.h"
#include "tests/runtime/server/api/ApiTest.h"

#include <set>

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

TEST_F(ApiFieldRules, SamplingFieldsAreReadFromTheirTable) {
  auto number = [](double value) { return runtime::JsonText().value(value).text(); };
  for (const runtime::SamplingField &field : runtime::kSamplingFields) {
    if (field.apart() || std::holds_alternative<uint64_t runtime::SamplingParams::*>(field.member))
      continue;
    for (const std::string name : {field.name, field.alias}) {
      if (name.empty())
        continue;
      const std::string begin = R"({"prompt":[1],"max_tokens":1,")" + name + "\":";
      const double other = field.least == 1e-9 ? 0.5 : std::min(field.most, 1.0);
      ask("/v1/completions", begin + number(other) + "}"); // no list of foreign fields contains it
      EXPECT_EQ(
          refusal("/v1/completions", begin + number(field.least - 2) + "}").find(name + ": is"),
          0u);
      EXPECT_EQ(refusal("/v1/completions", begin + "\"x\"}").find(name + ": must be"), 0u);
    }
    if (*field.alias) {
      const std::string both = R"({"prompt":[1],"max_tokens":1,")" + std::string(field.name) +
                               "\":2,\"" + field.alias + "\":";
      EXPECT_EQ(refusal("/v1/completions", both + "3}"),
                std::string(field.alias) + ": cannot be given together with " + field.name);
    }
  }
}

TEST_F(ApiFieldRules, EveryFilterTurnsSamplingOn) {
  auto texts = [&](const std::string &field) {
    std::set<std::string> all;
    for (const char *seed : {"1", "2", "3", "4"})
      all.insert(at(ask("/v1/completions", R"({"prompt":"abc","max_tokens":8,"ignore_eos":true,)"
                                           R"("seed":)" +
                                               std::string(seed) + field + "}"),
                    "/choices/0/text"));
    return all.size();
  };
  EXPECT_EQ(texts(""), 1u);
  for (const runtime::SamplingField &field : runtime::kSamplingFields)
    if (field.filter) {
      const double value = field.most > 1 ? 40 : field.least == 0 && field.most == 1 ? 0.01 : 0.9;
      const std::string given = ",\"" + std::string(field.name) + "\":";
      const std::string wide = std::string(field.name) == "top_p" ? "0.99" : std::to_string(value);
      EXPECT_GT(texts(given + wide), 1u) << field.name;
      EXPECT_EQ(texts(given + wide + ",\"temperature\":0"), 1u) << field.name;
    }
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
