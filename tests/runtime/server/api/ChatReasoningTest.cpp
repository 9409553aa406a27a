//===- ChatReasoningTest.cpp - A schema binds the text after reasoning -----===//
//
// The device follows a script: at each position of the answer the script's id has the largest logit.
// If a grammar forbids that id, another one is chosen, and the tests check for it.
//===----------------------------------------------------------------------===//
#include "tests/runtime/server/api/ApiTest.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr const char *kTemplate =
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]"
    "{% if open %}<think>{% endif %}{# <think></think> #}";
constexpr const char *kSchema =
    R"({"type":"object","properties":{"a":{"type":"boolean"}},"required":["a"],"additionalProperties":false})";

/// Produces the script. Its first character follows the last position of the prompt.
class Scripted final : public ExecutorAround {
public:
  Scripted(std::unique_ptr<runtime::Executor> device, const std::string &script)
      : ExecutorAround(std::move(device)), script(script) {}
  bool draws(const RowSampling &) const override { return false; }
  const float *maxima() const override { return nullptr; }
  int64_t logitsStride() const override { return kFakeVocab; }
  const float *logits() const override { return rows.data(); }
  Result<void> step(const BatchView &batch) override {
    rows.assign(size_t(batch.rows * kFakeVocab), 0);
    for (int64_t row = 0; row < batch.rows; ++row) {
      const int32_t position = batch.positions[batch.rowTokens[row]];
      if (last < 0)
        last = position;
      const auto at = size_t(position - last);
      const int32_t id = at >= script.size() ? kFakeEos : script[at] == ' ' ? 94 : script[at] - '!';
      rows[size_t(row * kFakeVocab + id)] = 10;
    }
    return inner->step(batch);
  }

private:
  const std::string &script;
  std::vector<float> rows;
  int32_t last = -1; ///< last position of the prompt
};

class ChatReasoning : public ApiTest {
protected:
  void say(std::string text) {
    script = std::move(text);
    runtime::SessionOptions session;
    session.prefixCache = false;
    session.around = [this](std::unique_ptr<runtime::Executor> device) {
      return std::make_unique<Scripted>(std::move(device), script);
    };
    serve(session, kTemplate);
  }
  static std::string body(const std::string &more) {
    return R"({"messages":[{"role":"user","content":"hm"}],"temperature":0,"max_tokens":120)" +
           more + "}";
  }
  static std::string schema() {
    return std::string(
               R"(,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":)") +
           kSchema + "}}";
  }
  std::string script;
};

constexpr const char *kContent = "/choices/0/message/content";
constexpr const char *kReasoning = "/choices/0/message/reasoning_content";

} // namespace

TEST_F(ChatReasoning, thenTheSchema) {
  say("<think>let me { see</think>{\"a\":true}");
  auto answer = ask("/v1/chat/completions", body(schema()));
  EXPECT_EQ(at(answer, kReasoning), "let me { see");
  EXPECT_EQ(at(answer, kContent), "{\"a\":true}");
  EXPECT_EQ(at(answer, "/choices/0/finish_reason"), "stop");
}

TEST_F(ChatReasoning, theSchemaBindsWhatFollows) {
  say("<think>hm</think>yes, {\"b\":1}");
  auto answer = ask("/v1/chat/completions", body(schema()));
  EXPECT_EQ(at(answer, kReasoning), "hm");
  std::string content = at(answer, kContent);
  EXPECT_TRUE(content.starts_with("{") && content.find("yes") == std::string::npos) << content;
  EXPECT_EQ(content.find("\"b\""), std::string::npos) << content;
}

TEST_F(ChatReasoning, mayBeLeftOut) {
  say("{\"a\":false}");
  auto answer = ask("/v1/chat/completions", body(schema()));
  EXPECT_EQ(at(answer, kReasoning), "(none)");
  EXPECT_EQ(at(answer, kContent), "{\"a\":false}");
}

TEST_F(ChatReasoning, thatTheTemplateOpened) {
  say("so it is</think>{\"a\":true}");
  auto answer =
      ask("/v1/chat/completions", body(schema() + R"(,"chat_template_kwargs":{"open":true})"));
  EXPECT_EQ(at(answer, kReasoning), "so it is");
  EXPECT_EQ(at(answer, kContent), "{\"a\":true}");
}

TEST_F(ChatReasoning, streams) {
  say("<think>let me</think>{\"a\":true}");
  auto response = begin("/v1/chat/completions", body(schema() + R"(,"stream":true)"));
  ASSERT_TRUE(response->wait());
  std::string content, reasoning;
  size_t from = 0;
  for (size_t begin; (begin = response->body.find("data: {", from)) != std::string::npos;) {
    from = response->body.find("\n\n", begin);
    simdjson::dom::element event;
    ASSERT_FALSE(parser.parse(response->body.substr(begin + 6, from - begin - 6)).get(event));
    auto add = [&](std::string &to, const char *pointer) {
      if (std::string text = at(event, pointer); text != "(none)")
        to += text;
    };
    add(content, "/choices/0/delta/content");
    add(reasoning, "/choices/0/delta/reasoning_content");
  }
  EXPECT_EQ(reasoning, "let me");
  EXPECT_EQ(content, "{\"a\":true}");
}

TEST_F(ChatReasoning, anyObject) {
  say("<think>x</think>{\"q\":1}");
  auto answer = ask("/v1/chat/completions", body(R"(,"response_format":{"type":"json_object"})"));
  EXPECT_EQ(at(answer, kReasoning), "x");
  EXPECT_EQ(at(answer, kContent), "{\"q\":1}");
}

TEST_F(ChatReasoning, hasNoPlaceInARegex) {
  say("<think>x</think>");
  auto answer = ask("/v1/chat/completions", body(R"(,"guided_regex":"[a-z]{3}")"));
  EXPECT_EQ(at(answer, kReasoning), "(none)");
  EXPECT_EQ(at(answer, kContent).size(), 3u);
}

TEST_F(ChatReasoning, aSchemaThatIsNoneIsNamed) {
  say("x");
  auto answer = ask(
      "/v1/chat/completions",
      body(
          R"(,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"wat"}}})"),
      400);
  EXPECT_EQ(at(answer, "/error/param"), "response_format.json_schema.schema");
  EXPECT_EQ(at(answer, "/error/code"), "E0625");
}

TEST_F(ChatReasoning, inResponsesToo) {
  say("<think>hm</think>{\"a\":true}");
  auto answer = ask(
      "/v1/responses",
      std::string(
          R"({"input":"hm","temperature":0,"max_output_tokens":120,"text":{"format":{"type":"json_schema","name":"x","schema":)") +
          kSchema + "}}}");
  simdjson::dom::element output;
  ASSERT_FALSE(answer.at_key("output").get(output));
  EXPECT_NE(simdjson::minify(output).find(R"({\"a\":true})"), std::string::npos)
      << simdjson::minify(output);
}

/// The limits on a schema also apply after reasoning.
TEST_F(ChatReasoning, aSchemaThatIsTooLongIsRefused) {
  say("x");
  const std::string schema =
      R"({"type":"object","description":")" + std::string(70'000, 'x') + "\"}";
  auto answer = ask("/v1/chat/completions", body(R"(,"guided_json":)" + schema), 400);
  EXPECT_EQ(at(answer, "/error/param"), "guided_json");
  EXPECT_EQ(at(answer, "/error/code"), "E0622");
}

/// An explicitly named format is used, whatever format the template writes.
TEST_F(ChatReasoning, aNamedFormatOfToolsWins) {
  const std::string tools =
      R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])";
  const std::string hermes = R"(<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>)";
  const std::string mistral = R"([TOOL_CALLS]f[ARGS]{"a":1})";
  constexpr const char *kArguments = "/choices/0/message/tool_calls/0/function/arguments";
  for (const char *named : {"", "mistral-args"})
    for (const char *mark : {"<tool_call>", "<tool_call>{{ tools }}"})
      for (const std::string &said : {hermes, mistral}) {
        script = said;
        toolFormat = named;
        models = std::make_shared<service::ModelRegistry>();
        runtime::SessionOptions session;
        session.prefixCache = false;
        session.around = [this](std::unique_ptr<runtime::Executor> device) {
          return std::make_unique<Scripted>(std::move(device), script);
        };
        serve(session, std::string("{% for m in messages %}{{ m.content }}{% endfor %}{# ") + mark +
                           " #}{% if false %}" + mark + "{% endif %}");
        const bool call = (said == mistral) == (*named != 0);
        auto answer = ask("/v1/chat/completions", body(tools));
        EXPECT_EQ(at(answer, kArguments), call ? R"({"a":1})" : "(none)") << named << said;
        EXPECT_EQ(at(answer, kContent), call ? "(none)" : said) << named << said;
      }
}

/// A truncated call must give the text as far as it came, a closed object, and the finish reason.
TEST_F(ChatReasoning, argumentsThatAreCut) {
  say(R"(<tool_call>{"name":"f","arguments":{"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}</tool_call>)");
  const std::string chat =
      R"({"messages":[{"role":"user","content":"hm"}],"temperature":0,"max_tokens":45,"num_predict":45,)"
      R"("stream":false,"options":{"temperature":0,"num_predict":45},)";
  const std::string tools =
      R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]})";
  auto answer = ask("/v1/chat/completions", chat + tools);
  EXPECT_EQ(at(answer, "/choices/0/message/tool_calls/0/function/arguments"), R"({"a":"xxxx)");
  EXPECT_EQ(at(answer, "/choices/0/finish_reason"), "length");
  answer = ask("/api/chat", chat + tools);
  EXPECT_EQ(at(answer, "/message/tool_calls/0/function/arguments"), R"({"a":"xxxx"})");
  EXPECT_EQ(at(answer, "/done_reason"), "length");
  answer =
      ask("/v1/messages", chat + R"("tools":[{"name":"f","input_schema":{"type":"object"}}]})");
  EXPECT_EQ(at(answer, "/content/0/input"), R"({"a":"xxxx"})");
  EXPECT_EQ(at(answer, "/stop_reason"), "max_tokens");
}

/// Covers the fields that show or hide reasoning, and where it appears.
TEST_F(ChatReasoning, isShownAsItIsAskedFor) {
  say("<think>hm so</think>yes");
  EXPECT_EQ(at(ask("/v1/chat/completions", body(R"(,"include_reasoning":false)")), kReasoning),
            "(none)");
  // The log-probabilities do not reveal it either, neither whole nor streamed.
  const std::string hidden = R"(,"include_reasoning":false,"logprobs":true)";
  auto told = [](const std::string &said) {
    std::string tokens;
    constexpr std::string_view kToken = R"({"token":")";
    for (size_t at = said.find(kToken); at != std::string::npos; at = said.find(kToken, at + 1))
      tokens +=
          said.substr(at + kToken.size(), said.find('"', at + kToken.size()) - at - kToken.size());
    return tokens;
  };
  EXPECT_EQ(told(at(ask("/v1/chat/completions", body(hidden)), "/choices/0/logprobs")), "yes");
  auto logged = begin("/v1/chat/completions", body(hidden + R"(,"stream":true)"));
  ASSERT_TRUE(logged->wait());
  EXPECT_EQ(told(logged->body), "yes");
  auto inside = ask("/v1/chat/completions", body(R"(,"separate_reasoning":false)"));
  EXPECT_EQ(at(inside, kContent), "<think>hm so</think>yes");
  EXPECT_EQ(at(inside, kReasoning), "(none)");
  inside = ask("/v1/chat/completions", body(R"(,"reasoning_format":"none")"));
  EXPECT_EQ(at(inside, kContent), "<think>hm so</think>yes");
  const auto omitted = ask("/v1/messages", body(R"(,"thinking":{"display":"omitted"})"));
  EXPECT_EQ(at(omitted, "/content/0/text"), "yes");
  auto stream = begin("/v1/chat/completions", body(R"(,"stream":true,"stream_reasoning":false)"));
  ASSERT_TRUE(stream->wait());
  EXPECT_NE(stream->body.find(R"("reasoning_content":"hm so")"), std::string::npos) << stream->body;
  stream = begin("/v1/chat/completions", body(R"(,"stream":true,"include_reasoning":false)"));
  ASSERT_TRUE(stream->wait());
  EXPECT_EQ(stream->body.find("reasoning_content"), std::string::npos) << stream->body;
}
