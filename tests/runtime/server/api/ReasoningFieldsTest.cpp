//===- ReasoningFieldsTest.cpp - Every API's switches for reasoning ---------===//
//
// The length of the template's output encodes the variables it received. Each API's usage reports it.
//===----------------------------------------------------------------------===//
#include "tests/runtime/server/api/ApiTest.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// Writes 1 letter, plus 2 for true, 4 for false, 8 for "low", 16 for any other level, 32 for a budget.
constexpr const char *kReadsAll =
    "x{% if enable_thinking is defined %}{{ 'tt' if enable_thinking else 'ffff' }}{% endif %}"
    "{% if reasoning_effort is defined %}"
    "{{ 'llllllll' if reasoning_effort == 'low' else 'hhhhhhhhhhhhhhhh' }}{% endif %}"
    "{% if thinking_budget is defined %}bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb{% endif %}"
    "{# <think></think> #}";
constexpr const char *kReadsEnable =
    "x{% if enable_thinking is defined %}{{ 'tt' if enable_thinking else 'ffff' }}{% endif %}"
    "{# <think></think> #}";
constexpr const char *kReadsThinking =
    "x{% if thinking is defined %}{{ 'tt' if thinking else 'ffff' }}{% endif %}";
constexpr const char *kAlwaysReasons = "x{# <think></think> #}";
constexpr const char *kNeverReasons = "x";

class ReasoningFields : public ApiTest {
protected:
  static std::string messages(const std::string &more) {
    return R"({"messages":[{"role":"user","content":"a"}],"max_tokens":9,)" + more + "}";
  }
  static std::string response(const std::string &more) {
    return R"({"input":"a","max_output_tokens":9,)" + more + "}";
  }
  static std::string ollama(const std::string &more) {
    return R"({"messages":[{"role":"user","content":"a"}],"stream":false,"options":{"num_predict":1},)" +
           more + "}";
  }
  std::string chat(const std::string &more) {
    return at(ask("/v1/chat/completions", messages(more)), "/usage/prompt_tokens");
  }
  std::string anthropic(const std::string &more) {
    const auto answer = ask("/v1/messages", messages(more));
    return std::to_string(std::stoi(at(answer, "/usage/input_tokens")) +
                          std::stoi(at(answer, "/usage/cache_read_input_tokens")));
  }
  std::string responses(const std::string &more) {
    return at(ask("/v1/responses", response(more)), "/usage/input_tokens");
  }
  std::string think(const std::string &value) {
    return at(ask("/api/chat", ollama("\"think\":" + value)), "/prompt_eval_count");
  }
  /// Returns the name of the refused field.
  std::string refused(const std::string &path, const std::string &body) {
    return at(ask(path, body, 400), "/error/param");
  }
};

} // namespace

/// The server's setting applies if a request does not set the value, under the template's name or another.
TEST_F(ReasoningFields, OfTheServer) {
  variables = R"({"enable_thinking":false})";
  serve({}, kReadsAll);
  EXPECT_EQ(chat(R"("n":1)"), "5");
  EXPECT_EQ(anthropic(R"("top_k":1)"), "5");
  EXPECT_EQ(responses(R"("top_logprobs":0)"), "5");
  EXPECT_EQ(think("true"), "3");
  EXPECT_EQ(chat(R"("chat_template_kwargs":{"enable_thinking":true})"), "3");
  EXPECT_EQ(chat(R"("chat_template_kwargs":{ })"), "5");
  EXPECT_EQ(chat(R"("reasoning_effort":"low")"), "11"); // the level also acts as a switch
  EXPECT_EQ(chat(R"("thinking":{"type":"enabled"})"), "3");
}

TEST_F(ReasoningFields, ReachTheTemplate) {
  serve({}, kReadsAll);
  EXPECT_EQ(chat(R"("n":1)"), "1");
  EXPECT_EQ(chat(R"("reasoning_effort":"none")"), "5");
  EXPECT_EQ(chat(R"("reasoning_effort":"low")"), "9");
  for (const char *level : {"minimal", "medium", "high", "xhigh", "max"})
    EXPECT_EQ(chat(std::string(R"("reasoning_effort":")") + level + "\""), "17") << level;
  EXPECT_EQ(chat(R"("reasoning":{"effort":"low"})"), "9");
  EXPECT_EQ(chat(R"("thinking":{"type":"disabled"})"), "5");
  EXPECT_EQ(chat(R"("thinking":{"type":"enabled"})"), "3");
  EXPECT_EQ(chat(R"("enable_thinking":false)"), "5");
  EXPECT_EQ(chat(R"("reasoning_budget":0)"), "5");
  EXPECT_EQ(chat(R"("thinking_token_budget":5)"), "33");
  EXPECT_EQ(chat(R"("reasoning_budget":-1)"), "1");
  // A value that the request sets under the template's own name wins.
  EXPECT_EQ(chat(R"("reasoning_effort":"none","chat_template_kwargs":{"enable_thinking":true})"),
            "3");
  EXPECT_EQ(responses(R"("reasoning":{"effort":"none"})"), "5");
  EXPECT_EQ(responses(R"("reasoning":{"effort":"low","summary":"auto"})"), "9");
  EXPECT_EQ(responses(R"("chat_template_kwargs":{"enable_thinking":false})"), "5");
  EXPECT_EQ(anthropic(R"("thinking":{"type":"disabled"})"), "5");
  EXPECT_EQ(anthropic(R"("thinking":{"type":"adaptive"})"), "1");
  EXPECT_EQ(anthropic(R"("thinking":{"type":"enabled","budget_tokens":1024})"), "35");
  EXPECT_EQ(anthropic(R"("output_config":{"effort":"low"})"), "9");
  EXPECT_EQ(think("true"), "3");
  EXPECT_EQ(think("false"), "5");
  EXPECT_EQ(think("\"low\""), "9");
  EXPECT_EQ(at(ask("/v1/messages/count_tokens", messages(R"("thinking":{"type":"disabled"})")),
               "/input_tokens"),
            "5");
}

TEST_F(ReasoningFields, ALevelSwitchesOnWhatHasNoLevels) {
  serve({}, kReadsEnable);
  EXPECT_EQ(chat(R"("reasoning_effort":"high")"), "3");
  EXPECT_EQ(chat(R"("reasoning_effort":"none")"), "5");
  // A budget that the answer cannot exceed is accepted.
  EXPECT_EQ(anthropic(R"("thinking":{"type":"enabled","budget_tokens":8})"), "3");
  EXPECT_EQ(refused("/v1/chat/completions", messages(R"("thinking_budget":7)")), "thinking_budget");
}

TEST_F(ReasoningFields, AnotherNameOfTheVariable) {
  serve({}, kReadsThinking);
  EXPECT_EQ(chat(R"("reasoning_effort":"none")"), "5");
  EXPECT_EQ(chat(R"("reasoning_effort":"high")"), "3");
}

TEST_F(ReasoningFields, WhatAModelCannotDoIsRefusedByName) {
  serve({}, kAlwaysReasons);
  EXPECT_EQ(refused("/v1/chat/completions", messages(R"("reasoning_effort":"none")")),
            "reasoning_effort");
  EXPECT_EQ(refused("/v1/chat/completions", messages(R"("reasoning_effort":"high")")),
            "reasoning_effort");
  EXPECT_EQ(refused("/v1/responses", response(R"("reasoning":{"effort":"low"})")),
            "reasoning.effort");
  EXPECT_EQ(at(ask("/api/chat", ollama("\"think\":false"), 400), "/error").substr(0, 6), "think:");
  EXPECT_EQ(think("true"), "1");                                     // it reasons anyway
  EXPECT_EQ(anthropic(R"("output_config":{"effort":"high"})"), "1"); // same as without the field
}

TEST_F(ReasoningFields, OfAModelThatNeverReasons) {
  serve({}, kNeverReasons);
  EXPECT_EQ(chat(R"("reasoning_effort":"none","thinking_token_budget":3)"), "1");
  EXPECT_EQ(think("false"), "1");
  // Clients send their level to every model. A low level is accepted, since it matches the default.
  for (const char *level : {"minimal", "low"}) {
    EXPECT_EQ(chat(std::string(R"("reasoning_effort":")") + level + "\""), "1");
    EXPECT_EQ(think(std::string("\"") + level + "\""), "1");
  }
  for (const char *level : {"medium", "high", "xhigh"})
    EXPECT_EQ(refused("/v1/chat/completions",
                      messages(std::string(R"("reasoning_effort":")") + level + "\"")),
              "reasoning_effort");
  EXPECT_EQ(at(ask("/api/chat", ollama("\"think\":true"), 400), "/error").substr(0, 6), "think:");
  // Anthropic's field is a preference and its budget a target. They are ignored, and the log reports it.
  EXPECT_EQ(anthropic(R"("thinking":{"type":"enabled","budget_tokens":3})"), "1");
  EXPECT_EQ(refused("/v1/chat/completions", messages(R"("enable_thinking":true)")),
            "enable_thinking");
}

TEST_F(ReasoningFields, ValuesOutsideTheirSets) {
  serve({}, kReadsAll);
  for (const auto &[field, value] : {std::pair("reasoning_effort", R"("banana")"),
                                     {"reasoning_format", R"("deepseek-legacy")"},
                                     {"thinking_forced_open", "true"},
                                     {"reasoning_in_content", "true"},
                                     {"reasoning_control", "true"},
                                     {"include_reasoning", "3"},
                                     {"separate_reasoning", "\"x\""}})
    EXPECT_EQ(refused("/v1/chat/completions", messages("\"" + std::string(field) + "\":" + value)),
              field);
  EXPECT_EQ(refused("/v1/responses", response(R"("reasoning":{"summary":"detailed"})")),
            "reasoning.summary");
  // Values that request nothing are accepted.
  chat(
      R"("thinking_forced_open":false,"reasoning_in_content":false,"reasoning_format":"auto",)"
      R"("reasoning_effort":null,"reasoning":{},"include_reasoning":true,"stream_reasoning":true)");
}
