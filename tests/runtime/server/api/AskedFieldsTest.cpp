//===- AskedFieldsTest.cpp - Fields of other servers, and their effects --------------===//
#include "tests/runtime/server/api/ApiTest.h"

#include <cmath>

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr const char *kMessages = R"("messages":[{"role":"user","content":"hello"}])";

class ApiAsked : public ApiTest {
protected:
  void SetUp() override {
    ApiTest::SetUp();
    serve({}, "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt "
              "%}A:{% endif %}");
  }
  simdjson::dom::element complete(const std::string &fields) {
    return ask("/v1/completions", R"({"temperature":0,)" + fields + "}");
  }
  std::string chat(const std::string &fields) {
    return at(
        ask("/v1/chat/completions",
            std::string("{") + kMessages + R"(,"temperature":0,"max_tokens":80,)" + fields + "}"),
        "/choices/0/message/content");
  }
  std::string refusal(const std::string &path, const std::string &body) {
    return at(ask(path, body, 400), "/error/message");
  }
  static std::string list(const std::vector<int32_t> &ids) {
    std::string text;
    for (int32_t id : ids)
      text += (text.empty() ? "[" : ",") + std::to_string(id);
    return text + "]";
  }
  /// Returns a prompt whose greedy answer ends before `most` ids, and sets `length` to the answer's length.
  static std::vector<int32_t> promptThatEnds(size_t most, size_t &length) {
    for (int seed = 0;; ++seed)
      if (auto said = fakeGreedy(fakePrompt(7, seed), int64_t(most), true);
          said.size() < most && said.size() > 2) {
        length = said.size();
        return fakePrompt(7, seed);
      }
  }
};

} // namespace

TEST_F(ApiAsked, EveryNameOfAGrammarBinds) {
  const std::string schema = R"({"enum":["yes","no"]})";
  const std::string quoted = R"("\"yes\"" | "\"no\"")";
  auto isOne = [](const std::string &said) { return said == "\"yes\"" || said == "\"no\""; };
  EXPECT_TRUE(isOne(chat(R"("structured_outputs":{"json":)" + schema + "}")));
  EXPECT_TRUE(isOne(chat(R"("structured_outputs":{"json":"{\"enum\":[\"yes\",\"no\"]}"})")));
  EXPECT_TRUE(isOne(chat(R"("json_schema":)" + schema)));
  EXPECT_TRUE(isOne(chat(R"("response_format":{"type":"json_object","schema":)" + schema + "}")));
  EXPECT_EQ(chat(R"("structured_outputs":{"regex":"ab{3}c"})"), "abbbc");
  EXPECT_EQ(chat(R"("structured_outputs":{"choice":["only"]})"), "only");
  EXPECT_EQ(chat(R"("structured_outputs":{"grammar":"start: \"lark\""})"), "lark");
  auto message = [&](const std::string &fields) {
    return at(
        ask("/v1/messages", std::string("{") + kMessages + R"(,"max_tokens":80,)" + fields + "}"),
        "/content/0/text");
  };
  EXPECT_TRUE(isOne(
      message(R"("output_config":{"format":{"type":"json_schema","schema":)" + schema + "}}")));
  EXPECT_TRUE(isOne(message(R"("output_format":{"type":"json_schema","schema":)" + schema + "}")));
  EXPECT_EQ(
      at(ask("/v1/responses", R"({"input":"hello","structured_outputs":{"choice":["only"]}})"),
         "/output/0/content/0/text"),
      "only");
}

TEST_F(ApiAsked, ObjectsAreClosedWhereOtherServersCloseThem) {
  // The closed schema allows only one answer.
  const std::string schema = R"({"type":"object","properties":{}})";
  auto isEmpty = [](std::string said) {
    std::erase_if(said, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
    return said == "{}";
  };
  EXPECT_TRUE(isEmpty(chat(R"("guided_json":)" + schema)));
  EXPECT_TRUE(isEmpty(chat(R"("structured_outputs":{"json":)" + schema + "}")));
  EXPECT_TRUE(isEmpty(chat(R"("json_schema":)" + schema)));
  EXPECT_TRUE(isEmpty(chat(R"("response_format":{"type":"json_object","schema":)" + schema + "}")));
  auto openai = [&](const char *strict) {
    return chat(R"("response_format":{"type":"json_schema","json_schema":{"name":"x","schema":)" +
                schema + strict + "}}");
  };
  EXPECT_TRUE(isEmpty(openai(R"(,"strict":true)")));
  for (const char *more : {R"("output_config":{"format":{"type":"json_schema","schema":)",
                           R"("output_format":{"type":"json_schema","schema":)"}) {
    auto anthropic =
        ask("/v1/messages", std::string("{") + kMessages + R"(,"temperature":0,"max_tokens":80,)" +
                                more + schema + (more[8] == 'c' ? "}}}" : "}}"));
    EXPECT_TRUE(isEmpty(at(anthropic, "/content/0/text")));
  }
  auto responses = ask("/v1/responses",
                       R"({"input":"hello","temperature":0,"max_output_tokens":80,"text":{"format":
                       {"type":"json_schema","name":"x","strict":true,"schema":)" +
                           schema + "}}}");
  EXPECT_TRUE(isEmpty(at(responses, "/output/0/content/0/text")));
  auto ollama = ask("/api/chat", std::string("{") + kMessages + R"(,"stream":false,"format":)" +
                                     schema + R"(,"options":{"temperature":0,"num_predict":80}})");
  EXPECT_TRUE(isEmpty(at(ollama, "/message/content")));
}

TEST_F(ApiAsked, TheLogprobsOfAPromptAreThoseOfItsRows) {
  const std::vector<int32_t> prompt = fakePrompt(40, 3);
  auto answer =
      complete(R"("prompt":)" + list(prompt) + R"(,"max_tokens":1,"echo":true,"logprobs":2)");
  simdjson::dom::array logprobs, top;
  ASSERT_FALSE(answer.at_pointer("/choices/0/logprobs/token_logprobs").get(logprobs));
  ASSERT_FALSE(answer.at_pointer("/choices/0/logprobs/top_logprobs").get(top));
  ASSERT_EQ(logprobs.size(), prompt.size() + 1);
  EXPECT_TRUE(logprobs.at(0).is_null());
  EXPECT_TRUE(top.at(0).is_null());
  for (size_t i = 1; i < prompt.size(); ++i) {
    const auto row = fakeLogits(std::span(prompt).first(i));
    double sum = 0;
    for (float logit : row)
      sum += std::exp(double(logit));
    EXPECT_NEAR(logprobs.at(i).get_double().value(), double(row[size_t(prompt[i])]) - std::log(sum),
                1e-5);
  }
  const std::string fifth = at(answer, "/choices/0/logprobs/token_logprobs/5");
  // Covers vLLM's prompt_logprobs list, and a prompt without an answer.
  auto scored = complete(R"("prompt":)" + list(prompt) + R"(,"max_tokens":0,"prompt_logprobs":0)");
  EXPECT_EQ(at(scored, "/choices/0/text"), "");
  EXPECT_EQ(at(scored, "/choices/0/finish_reason"), "length");
  const std::string id = std::to_string(prompt[5]);
  EXPECT_EQ(at(scored, "/choices/0/prompt_logprobs/0"), "(none)");
  EXPECT_EQ(at(scored, "/choices/0/prompt_logprobs/5/" + id + "/logprob"), fifth);
  EXPECT_EQ(at(scored, "/usage/completion_tokens"), "0");
  EXPECT_EQ(at(complete(R"("prompt":"ab","max_tokens":0,"echo":true,"n":2)"), "/choices/1/text"),
            "ab");
}

TEST_F(ApiAsked, AnEchoEndsWithTheIdThatEndedTheText) {
  // Sums of log-probabilities omit the last entry, so that entry must exist even if it is the eos.
  for (int seed = 0, found = 0; found < 2; ++seed) {
    const auto prompt = fakePrompt(9, seed);
    if (!fakeGreedy(prompt, 1, true).empty())
      continue;
    ++found;
    auto answer =
        complete(R"("prompt":[)" + list(prompt) + R"(],"max_tokens":1,"echo":true,"logprobs":1)");
    simdjson::dom::array logprobs;
    ASSERT_FALSE(answer.at_pointer("/choices/0/logprobs/token_logprobs").get(logprobs));
    EXPECT_EQ(logprobs.size(), prompt.size() + 1);
  }
}

TEST_F(ApiAsked, IdsThatMayAndMayNotCome) {
  EXPECT_EQ(
      at(complete(R"("prompt":"x","max_tokens":4,"allowed_token_ids":[64])"), "/choices/0/text"),
      "aaaa");
  const std::string plain =
      at(complete(R"("prompt":"x","max_tokens":8,"ignore_eos":true)"), "/choices/0/text");
  const std::string word = plain.substr(2, 1);
  if (word != " " && word[0] > 0) {
    const std::string other =
        at(complete(R"("prompt":"x","max_tokens":8,"ignore_eos":true,"bad_words":[")" +
                    std::string(word == "\"" || word == "\\" ? "\\" : "") + word + R"("])"),
           "/choices/0/text");
    EXPECT_EQ(other.find(word), std::string::npos) << plain << " / " << other;
  }
  size_t length = 0;
  const auto prompt = promptThatEnds(20, length);
  const std::string fields = R"("prompt":)" + list(prompt) + R"(,"max_tokens":30,"min_tokens":)";
  EXPECT_EQ(at(complete(fields + "0"), "/choices/0/finish_reason"), "stop");
  auto longer = complete(fields + std::to_string(length + 3));
  EXPECT_GE(std::stoul(at(longer, "/usage/completion_tokens")), length + 3);
  EXPECT_EQ(refusal("/v1/completions", R"({"prompt":"x","max_tokens":3,"min_tokens":4})"),
            "min_tokens: is 4, but the answer has at most 3 tokens");
  EXPECT_EQ(refusal("/v1/completions", R"({"prompt":"x","allowed_token_ids":[]})"),
            "allowed_token_ids: is empty, so no answer would be possible");
}

TEST_F(ApiAsked, WhatOfTheAnswerIsReported) {
  const std::string plain =
      at(complete(R"("prompt":"x","max_tokens":30,"ignore_eos":true,"allowed_token_ids":[64,65])"),
         "/choices/0/text");
  const std::string stop = plain.substr(3, 2);
  const std::string before = plain.substr(0, plain.find(stop));
  const std::string stopped =
      R"("prompt":"x","max_tokens":30,"ignore_eos":true,"allowed_token_ids":[64,65],"stop":")" +
      stop + "\"";
  EXPECT_EQ(at(complete(stopped), "/choices/0/text"), before);
  EXPECT_EQ(at(complete(stopped + R"(,"include_stop_str_in_output":true)"), "/choices/0/text"),
            before + stop);
  auto ids =
      complete(R"("prompt":"abc","max_tokens":2,"allowed_token_ids":[64],"return_token_ids":true)");
  EXPECT_EQ(at(ids, "/choices/0/token_ids"), "[64,64]");
  EXPECT_EQ(at(ids, "/choices/0/prompt_token_ids"), "[64,65,66]");
  EXPECT_EQ(
      at(complete(
             R"("prompt":"abc","max_tokens":1,"return_token_ids":true,"truncate_prompt_tokens":2)"),
         "/choices/0/prompt_token_ids"),
      "[65,66]");
  EXPECT_EQ(
      at(ask("/v1/chat/completions",
             R"({"messages":[{"role":"user","content":"ab"}],"max_tokens":1,"return_token_ids":true,"add_generation_prompt":false})"),
         "/prompt_token_ids"),
      "[64,65]");
  EXPECT_EQ(at(complete(R"("prompt":"x","n_predict":3,"ignore_eos":true,"repeat_penalty":1.1)"),
               "/usage/completion_tokens"),
            "3");
  complete(R"("prompt":"x","max_tokens":1,"priority":-3)");
}

TEST_F(ApiAsked, IdsOfAPromptComeOnceInAStream) {
  // Repeating a long prompt's ids in each event would make up most of a stream's bytes.
  for (const auto &[fields, ids] :
       {std::pair(R"("prompt":"abc","max_tokens":3)", std::vector{"[64,65,66]"}),
        {R"("prompt":"abc","max_tokens":3,"echo":true)", {"[64,65,66]"}},
        {R"("prompt":"abc","max_tokens":0,"echo":true)", {"[64,65,66]"}},
        {R"("prompt":"abc","max_tokens":0)", {"[64,65,66]"}},
        {R"("prompt":["abc","b"],"max_tokens":3)", {"[64,65,66]", "[65]"}}}) {
    auto response =
        begin("/v1/completions",
              std::string("{") + fields +
                  R"(,"stream":true,"ignore_eos":true,"logprobs":0,"return_token_ids":true})");
    ASSERT_TRUE(response->wait());
    for (size_t choice = 0; choice < ids.size(); ++choice) {
      const std::string index = "{\"index\":" + std::to_string(choice) + ",";
      const size_t first = response->body.find(index);
      ASSERT_NE(first, std::string::npos) << response->body;
      const std::string told = std::string("\"prompt_token_ids\":") + ids[choice] + "}";
      const size_t found = response->body.find(told);
      EXPECT_GT(found, first) << fields << response->body;
      EXPECT_LT(found, response->body.find(index, first + 1)) << fields << response->body;
      EXPECT_EQ(response->body.find(told, found + 1), std::string::npos) << response->body;
    }
  }
}

TEST_F(ApiAsked, UsageInEveryChunk) {
  auto response = begin(
      "/v1/completions",
      R"({"prompt":"abc","max_tokens":2,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}})");
  ASSERT_TRUE(response->wait());
  EXPECT_EQ(response->body.find("\"usage\":null"), std::string::npos) << response->body;
  EXPECT_NE(response->body.find("\"completion_tokens\":1,"), std::string::npos) << response->body;
}

TEST_F(ApiAsked, SomeOfTheToolsMayBeCalled) {
  const std::string tools =
      R"("tools":[{"type":"function","function":{"name":"one","parameters":{"type":"object","properties":{},"additionalProperties":false}}},{"type":"function","function":{"name":"two","parameters":{"type":"object","properties":{},"additionalProperties":false}}}])";
  EXPECT_EQ(
      refusal(
          "/v1/chat/completions",
          std::string("{") + kMessages + "," + tools +
              R"(,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"none"}}]}}})"),
      "tool_choice.allowed_tools.tools[0]: is not one of the tools");
}

TEST_F(ApiAsked, ToolsHaveNames) {
  const std::string body = std::string("{") + kMessages + R"(,"max_tokens":1,"tools":[)";
  for (const char *name : {"", " \t"}) {
    const std::string named = std::string(R"("name":")") + (*name ? " \\t" : "") + "\"";
    const std::string function = R"({"type":"function","function":{)" + named + "}}]}";
    EXPECT_EQ(refusal("/v1/chat/completions", body + function), "tools[0].function.name: is empty");
    EXPECT_EQ(at(ask("/api/chat", body + function, 400), "/error"),
              "tools[0].function.name: is empty");
    EXPECT_EQ(refusal("/v1/messages", body + "{" + named + R"(,"input_schema":{}}]})"),
              "tools[0].name: is empty");
    EXPECT_EQ(
        refusal("/v1/responses", R"({"input":"x","tools":[{"type":"function",)" + named + "}]}"),
        "tools[0].name: is empty");
  }
}

// Schemas may be compiled one by one or all together. In both cases the error names the tool at fault.
TEST_F(ApiAsked, AToolWhoseSchemaCannotBeUsedIsNamed) {
  auto tools = [](const char *schema, const char *strict) {
    const std::string fine = R"({"type":"object","properties":{"a":{"type":"integer"}}})";
    return R"("tools":[{"type":"function","function":{"name":"one","parameters":)" + fine +
           R"(}},{"type":"function","function":{"name":"two","parameters":)" + schema + strict +
           "}}]";
  };
  const char *const strict = R"(,"strict":true)";
  const char *const kBad[] = {R"({"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}})",
                              R"({"type":"object","not":{"type":"null"}})",
                              R"({"type":"object","properties":{"a":{"pattern":"["}}})"};
  for (const char *schema : kBad) {
    auto named = [&](const std::string &more) {
      const std::string said =
          refusal("/v1/chat/completions", std::string("{") + kMessages + "," + more + "}");
      EXPECT_TRUE(said.starts_with("tools[1].function.parameters: the schema of the tool 'two' "
                                   "cannot be used: "))
          << said;
    };
    named(tools(schema, "") + R"(,"tool_choice":"required")");
    named(tools(schema, strict) + R"(,"tool_choice":"required")");
    named(tools(schema, strict));
    // The index is the one in the request, even if earlier tools are left out or may not be called.
    std::string others = tools(schema, strict);
    others.insert(others.find('[') + 1, R"({"type":"web_search"},)");
    auto third = [&](const std::string &more) {
      const std::string said =
          refusal("/v1/chat/completions", std::string("{") + kMessages + "," + others + more + "}");
      EXPECT_TRUE(said.starts_with("tools[2].function.parameters: ")) << said;
    };
    third("");
    third(
        R"(,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"two"}}]}})");
    ask("/v1/chat/completions",
        std::string("{") + kMessages + R"(,"max_tokens":1,)" + tools(schema, "") + "}");
  }
}

TEST_F(ApiAsked, ControlTokensOfMessagesAreText) {
  const std::string written = list({64, '<' - '!', 'e' - '!', 'o' - '!', 's' - '!', '>' - '!'});
  auto tokens = [&](const std::string &content) {
    return at(ask("/tokenize", R"({"messages":[{"role":"user","content":")" + content +
                                   R"("}],"add_generation_prompt":false})"),
              "/tokens");
  };
  EXPECT_EQ(tokens("a<eos>"), written);
  // Control tokens of the template itself keep their ids, even next to content with the same text.
  EXPECT_EQ(at(ask("/tokenize", R"({"prompt":"a<eos>"})"), "/tokens"), "[64,96]");
  EXPECT_EQ(
      at(ask("/v1/messages/count_tokens", R"({"messages":[{"role":"user","content":"a<eos>"}]})"),
         "/input_tokens"),
      "8");
}

TEST_F(ApiAsked, PenaltiesLookAtTheLastIds) {
  auto answer = [&](const std::string &fields) {
    return at(complete(R"("prompt":"abcabcabc","max_tokens":12,"ignore_eos":true,)" + fields),
              "/choices/0/text");
  };
  const std::string plain = answer(R"("n":1)");
  const std::string all = answer(R"("repeat_penalty":50)");
  EXPECT_NE(all, plain);
  EXPECT_EQ(answer(R"("repeat_penalty":50,"repeat_last_n":0)"), plain);
  EXPECT_EQ(answer(R"("repeat_penalty":50,"repeat_last_n":-1)"), all);
  EXPECT_EQ(answer(R"("repeat_penalty":50,"repeat_last_n":1000)"), all);
  EXPECT_EQ(refusal("/v1/completions", R"({"prompt":"a","repeat_last_n":-2})"),
            "repeat_last_n: is -2; allowed: -1 to 2147483647");
}

TEST_F(ApiAsked, NothingIsToBeSaidToAnthropicsClients) {
  const std::string body = R"({"messages":[{"role":"user","content":"hello"}],"max_tokens":0)";
  const auto whole = ask("/v1/messages", body + "}");
  EXPECT_EQ(at(whole, "/content"), "[]");
  EXPECT_EQ(at(whole, "/stop_reason"), "max_tokens");
  EXPECT_EQ(at(whole, "/usage/output_tokens"), "0");
  auto stream = begin("/v1/messages", body + R"(,"stream":true})");
  ASSERT_TRUE(stream->wait());
  EXPECT_NE(stream->body.find("message_stop"), std::string::npos) << stream->body;
  EXPECT_EQ(stream->body.find("content_block"), std::string::npos) << stream->body;
  // OpenAI's Responses API does not allow this.
  EXPECT_EQ(refusal("/v1/responses", R"({"input":"a","max_output_tokens":0})"),
            "max_output_tokens: is 0; allowed: 1 to 1073741824");
}

TEST_F(ApiAsked, WhatIsNotThereIsRefusedByName) {
  for (const char *field :
       {R"("best_of":2)", R"("mirostat":1)", R"("dry_multiplier":0.5)", R"("xtc_probability":0.1)",
        R"("samplers":["top_k"])", R"("web_search_options":{})",
        R"("structured_outputs":{"structural_tag":"x"})", R"("logits_processors":["a"])",
        R"("return_tokens_as_token_ids":true)", R"("echo":true)", R"("chat_template":"x")"}) {
    const std::string name(field + 1, std::string_view(field + 1).find('"'));
    EXPECT_TRUE(refusal("/v1/chat/completions",
                        std::string("{") + kMessages + ",\"max_tokens\":1," + field + "}")
                    .starts_with(name))
        << field;
  }
  // The defaults of these fields are accepted, since they request nothing.
  chat(R"("best_of":1,"mirostat":0,"dry_multiplier":0.0,"echo":false)");
}
