//===- LlamaCppTest.cpp - llama.cpp's own routes, as clients read them ------===//
#include "tests/runtime/server/api/ApiTest.h"

using namespace ingot;
using namespace ingot::test;

namespace {

class ApiLlamaCpp : public ApiTest {
protected:
  void SetUp() override {
    ApiTest::SetUp();
    serve({}, "{% for m in messages %}{{ m.content }}{% endfor %}");
  }
  simdjson::dom::element complete(const std::string &fields, int status = 200) {
    return ask("/completion", R"({"temperature":0,)" + fields + "}", status);
  }
  static constexpr const char *kFour = R"("prompt":"abc","n_predict":4,"ignore_eos":true)";
};

} // namespace

TEST_F(ApiLlamaCpp, ProbabilitiesOfTokens) {
  const auto answer = complete(std::string(kFour) + R"(,"n_probs":3)");
  for (const char *member : {"id", "token", "bytes", "logprob", "top_logprobs/2/logprob"})
    EXPECT_NE(at(answer, std::string("/completion_probabilities/3/") + member), "(none)") << member;
  auto stream = begin("/completion", "{" + std::string(kFour) + R"(,"n_probs":3,"stream":true})");
  ASSERT_TRUE(stream->wait());
  EXPECT_NE(stream->body.find("\"completion_probabilities\":[{\"id\":"), std::string::npos);
  complete(std::string(kFour) + R"(,"n_probs":3,"post_sampling_probs":true)", 400);
  EXPECT_EQ(at(ask("/v1/completions", R"({"prompt":"a","n_probs":3})", 400), "/error/param"),
            "n_probs");
}

TEST_F(ApiLlamaCpp, EventsHaveTheirIds) {
  auto stream = begin("/completion", "{" + std::string(kFour) + R"(,"stream":true})");
  ASSERT_TRUE(stream->wait());
  size_t events = 0, empty = 0;
  for (size_t at = 0; (at = stream->body.find("\"stop\":false", at)) != std::string::npos; ++at)
    ++events;
  for (size_t at = 0; (at = stream->body.find("\"tokens\":[]", at)) != std::string::npos; ++at)
    ++empty;
  EXPECT_EQ(events, 4u) << stream->body;
  EXPECT_EQ(empty, 1u) << stream->body; // the list of the final event
}

TEST_F(ApiLlamaCpp, TimingsLeaveOutWhatWasCached) {
  const std::string prompt(200, 'a');
  const std::string body = R"("prompt":")" + prompt + R"(","n_predict":3,"ignore_eos":true)";
  complete(body);
  const auto again = complete(body);
  const int64_t cached = std::stol(at(again, "/timings/cache_n"));
  EXPECT_GT(cached, 0);
  EXPECT_EQ(std::stol(at(again, "/timings/prompt_n")) + cached, 200);
  EXPECT_EQ(at(again, "/timings/predicted_n"), "3");
  const double ms = std::stod(at(again, "/timings/predicted_ms"));
  EXPECT_NEAR(std::stod(at(again, "/timings/predicted_per_token_ms")), ms / 2, 1e-9 + ms * 1e-6);
  const auto one = complete(R"("prompt":"a","n_predict":1,"ignore_eos":true)");
  EXPECT_EQ(std::stod(at(one, "/timings/predicted_per_second")), 0);
}

TEST_F(ApiLlamaCpp, ACutByTheContextIsReported) {
  EXPECT_EQ(at(complete(kFour), "/truncated"), "false");
  const auto all = complete(R"("prompt":"abc","n_predict":-1,"ignore_eos":true)");
  EXPECT_EQ(at(all, "/truncated"), "true");
  EXPECT_EQ(at(all, "/tokens_predicted"), "2046");
}

TEST_F(ApiLlamaCpp, BiasOfTextsAndPairs) {
  const std::string said = at(complete(kFour), "/content");
  const std::string first =
      said.substr(0, 1) == "\"" || said[0] == '\\' ? "\\" + said.substr(0, 1) : said.substr(0, 1);
  for (const std::string &bias :
       {"[[" + std::to_string(said[0] - '!') + ",-100]]", "[[\"" + first + "\",-100]]",
        "[[\"" + first + "\",false]]", "{\"" + std::to_string(said[0] - '!') + "\":-100}"}) {
    const auto other = at(complete(std::string(kFour) + ",\"logit_bias\":" + bias), "/content");
    EXPECT_EQ(other.find(said[0]), std::string::npos) << bias << other;
  }
  EXPECT_EQ(at(complete(std::string(kFour) + R"(,"logit_bias":[[1]])", 400), "/error/param"),
            "logit_bias[0]");
}

TEST_F(ApiLlamaCpp, PromptsOfSeveralKinds) {
  const std::string four = R"(,"n_predict":4,"ignore_eos":true)";
  const std::string said = at(complete(kFour), "/content");
  EXPECT_EQ(at(complete(R"("prompt":[64,65,66])" + four), "/content"), said);
  EXPECT_EQ(at(complete(R"("prompt":{"prompt_string":"abc"})" + four), "/content"), said);
  EXPECT_EQ(at(complete(R"("prompt":[64,"bc"])" + four), "/content"), said);
  const auto several =
      complete(R"("prompt":[[64,65,66],"abc",{"prompt_string":"abc"},["ab",66]])" + four);
  for (const char *index : {"0", "1", "2", "3"})
    EXPECT_EQ(at(several, std::string("/") + index + "/content"), said);
  EXPECT_NE(at(complete(R"("prompt":{"prompt_string":"a","multimodal_data":["x"]})", 400),
               "/error/message")
                .find("multimodal_data"),
            std::string::npos);
}

TEST_F(ApiLlamaCpp, SettingsAndChosenFields) {
  const auto answer = complete(std::string(kFour) + R"(,"seed":7)");
  EXPECT_EQ(at(answer, "/generation_settings/seed"), "7");
  EXPECT_EQ(at(answer, "/generation_settings/logit_bias/0/token"), "96");
  EXPECT_EQ(at(answer, "/generation_settings/logit_bias/0/bias"), "(none)");
  for (const char *name : {"adaptive_target", "adaptive_decay", "samplers", "min_p"})
    EXPECT_NE(at(answer, std::string("/generation_settings/") + name), "(none)");
  EXPECT_EQ(at(answer, "/prompt"), "abc");
  const auto chosen = complete(std::string(kFour) +
                               R"(,"response_fields":["content","generation_settings/n_predict"])");
  EXPECT_EQ(simdjson::minify(chosen), R"({"content":)" +
                                          simdjson::minify(answer["content"].value_unsafe()) +
                                          R"(,"generation_settings/n_predict":4})");
  const auto props = ask("/props", "");
  EXPECT_NE(at(props, "/default_generation_settings/params/seed"), "(none)");
  EXPECT_NE(at(props, "/model_path").find("session.ingot"), std::string::npos);
}

TEST_F(ApiLlamaCpp, TimingsAndProgressOfChats) {
  const std::string chat =
      R"({"messages":[{"role":"user","content":"abc"}],"max_tokens":3,"ignore_eos":true,)";
  EXPECT_EQ(at(ask("/v1/chat/completions", chat + R"("timings_per_token":true})"),
               "/timings/predicted_n"),
            "3");
  auto stream = begin("/chat/completions",
                      chat + R"("stream":true,"timings_per_token":true,"return_progress":true,)"
                             R"("stream_options":{"include_usage":true}})");
  ASSERT_TRUE(stream->wait());
  EXPECT_NE(stream->body.find(R"("prompt_progress":{"total":3,"cache":0,"processed":3)"),
            std::string::npos)
      << stream->body;
  EXPECT_NE(stream->body.find(R"("choices":[],"timings":{"cache_n":0,"prompt_n":3)"),
            std::string::npos)
      << stream->body;
}

namespace {
/// Returns the numbers that follow `name` in a text, in order.
std::vector<int> numbersBehind(const std::string &text, const std::string &name) {
  std::vector<int> found;
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    found.push_back(std::stoi(text.substr(at + name.size())));
  return found;
}
} // namespace

/// The prompt has 40 tokens, and a step takes 16. Progress is reported before each step and with the first token.
TEST_F(ApiTest, ProgressOfALongPrompt) {
  serve({.prefillChunk = 16}, "{% for m in messages %}{{ m.content }}{% endfor %}");
  const std::string fields = R"("max_tokens":2,"ignore_eos":true,"stream":true,)"
                             R"("timings_per_token":true,"return_progress":true,)";
  auto prompt = [](char letter) { return "\"" + std::string(40, letter) + "\""; };
  const std::vector<std::pair<std::string, std::string>> asked = {
      {"/completion", "\"prompt\":" + prompt('a')},
      {"/v1/completions", "\"prompt\":" + prompt('b')},
      {"/v1/chat/completions", R"("messages":[{"role":"user","content":)" + prompt('c') + "}]"},
      {"/v1/responses", "\"input\":" + prompt('d')}};
  for (const auto &[path, body] : asked) {
    auto stream = begin(path, "{" + fields + body + "}");
    ASSERT_TRUE(stream->wait()) << path;
    EXPECT_EQ(numbersBehind(stream->body, "\"processed\":"), (std::vector{0, 16, 32, 40}))
        << path << stream->body;
    EXPECT_EQ(numbersBehind(stream->body, "\"total\":"), (std::vector{40, 40, 40, 40})) << path;
    EXPECT_EQ(numbersBehind(stream->body, "\"cache\":"), (std::vector{0, 0, 0, 0})) << path;
  }
  // Without a stream there is no progress.
  EXPECT_EQ(at(ask("/completion", R"({"return_progress":true,"prompt":"ab","n_predict":1})"),
               "/prompt_progress"),
            "(none)");
}

/// Characters that other languages treat as line ends are escaped, since clients split streams at them.
TEST_F(ApiLlamaCpp, LineEndsOfUnicodeAreEscaped) {
  auto answer =
      begin("/apply-template",
            "{\"messages\":[{\"role\":\"user\",\"content\":\"a\u2028b\u2029c\u0085d\u2027e\"}]}");
  ASSERT_TRUE(answer->wait());
  EXPECT_NE(answer->body.find(R"(a\u2028b\u2029c\u0085d)"
                              "\u2027"
                              "e"),
            std::string::npos)
      << answer->body;
}

TEST_F(ApiLlamaCpp, IdsAreCountedBeforehand) {
  const std::string messages = R"({"messages":[{"role":"user","content":"abc"}]})";
  EXPECT_EQ(at(ask("/chat/completions/input_tokens", messages), "/input_tokens"), "3");
  EXPECT_EQ(at(ask("/v1/chat/completions/input_tokens", messages), "/input_tokens"), "3");
  EXPECT_EQ(at(ask("/v1/responses/input_tokens", R"({"input":"abc"})"), "/input_tokens"), "3");
}

TEST_F(ApiLlamaCpp, PiecesOfTokens) {
  EXPECT_EQ(at(ask("/tokenize", R"({"content":"aÃ","with_pieces":true})"), "/tokens/0/piece"), "a");
  EXPECT_EQ(at(ask("/tokenize", R"({"content":"a<eos>","parse_special":false})"), "/tokens/1"),
            "27");
}

namespace {
class ApiAnyName : public ApiLlamaCpp {
protected:
  void SetUp() override {
    rules.anyName = true;
    ApiLlamaCpp::SetUp();
  }
};
} // namespace

TEST_F(ApiAnyName, IsTheOnlyModels) {
  for (const char *path : {"/v1/completions", "/completion", "/api/generate"})
    ask(path,
        R"({"model":"gpt-3.5-turbo","prompt":"a","max_tokens":1,"stream":false,"options":{"num_predict":1}})");
  EXPECT_EQ(at(ask("/v1/models", ""), "/data/0/id"), "m");
}
