//===- OtherServersTest.cpp - Routes for clients of Ollama, llama.cpp and others -----===//
#include "tests/runtime/server/api/ApiTest.h"

using namespace ingot;
using namespace ingot::test;

namespace {

class ApiOthers : public ApiTest {
protected:
  void SetUp() override {
    ApiTest::SetUp();
    serve({}, "{% for m in messages %}{{ m.content }}{% endfor %}");
  }
  std::vector<std::string> lines(const std::string &path, const std::string &body) {
    auto response = begin(path, body);
    EXPECT_TRUE(response->wait());
    EXPECT_EQ(response->status, 200) << response->body;
    std::vector<std::string> found;
    for (size_t at = 0; at < response->body.size();) {
      const size_t end = std::min(response->body.find('\n', at), response->body.size());
      found.push_back(response->body.substr(at, end - at));
      at = end + 1;
    }
    return found;
  }
  simdjson::dom::element parsed(const std::string &text) {
    simdjson::dom::element json;
    EXPECT_FALSE(parser.parse(text).get(json)) << text;
    return json;
  }
  http::Headers asked;
  std::string get(const std::string &path, const std::string &name, const std::string &value) {
    auto response = std::make_shared<KeptResponse>();
    http::HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.headers.emplace_back(name, value);
    thread.push([this, request, response] { routes->handle(request, response); });
    EXPECT_TRUE(response->wait());
    EXPECT_EQ(response->status, 200) << response->body;
    return response->body;
  }
};

constexpr const char *kHello =
    R"("model":"m:latest","messages":[{"role":"user","content":"hello"}])";

} // namespace

TEST_F(ApiOthers, OllamasChatIsLinesOfJson) {
  const std::string options =
      R"(,"options":{"temperature":0,"num_predict":3,"seed":1,"num_ctx":2048})";
  const auto stream = lines("/api/chat", std::string("{") + kHello + options + "}");
  ASSERT_GE(stream.size(), 2u);
  std::string said;
  for (const std::string &line : stream)
    said += at(parsed(line), "/message/content");
  EXPECT_EQ(at(parsed(stream.front()), "/done"), "false");
  const auto last = parsed(stream.back());
  EXPECT_EQ(at(last, "/done"), "true");
  EXPECT_EQ(at(last, "/prompt_eval_count"), "5");
  const auto whole = ask("/api/chat", std::string("{\"stream\":false,") + kHello + options + "}");
  EXPECT_EQ(at(whole, "/message/content"), said);
  EXPECT_EQ(at(whole, "/message/role"), "assistant");
  // An empty request is not an error: it loads the model.
  EXPECT_EQ(at(ask("/api/chat", R"({"model":"m","messages":[]})"), "/done_reason"), "load");
  EXPECT_EQ(at(ask("/api/generate", R"({"model":"m"})"), "/done_reason"), "load");
  EXPECT_EQ(at(ask("/api/generate",
                   R"({"model":"m","prompt":"hello","stream":false,"format":{"const":1}})"),
               "/response"),
            "1");
  // Ollama's error shape is used for errors of fields and of routes.
  EXPECT_EQ(
      at(ask("/api/chat", R"({"model":"no","messages":[{"role":"user","content":"a"}]})", 404),
         "/error"),
      "model: no model has that name; available: m; `ingot serve --any-model-name` accepts any "
      "name");
  EXPECT_EQ(at(ask("/api/chat", std::string("{") + kHello + R"(,"options":{"mirostat":1}})", 400),
               "/error"),
            "options.mirostat: is not supported");
  ask("/api/pull", "{}", 404);
}

TEST_F(ApiOthers, OllamaListsItsModels) {
  EXPECT_EQ(at(ask("/api/tags", ""), "/models/0/name"), "m");
  EXPECT_EQ(at(ask("/api/ps", ""), "/models/0/details/family"), "fake");
  EXPECT_EQ(at(ask("/api/show", R"({"model":"m"})"), "/model_info/fake.context_length"), "2048");
  EXPECT_NE(at(ask("/api/version", ""), "/version"), "(none)");
}

TEST_F(ApiOthers, LlamaCppsCompletion) {
  const auto whole = ask(
      "/completion",
      R"({"prompt":"abc","n_predict":4,"temperature":0,"ignore_eos":true,"return_tokens":true})");
  EXPECT_EQ(at(whole, "/stop_type"), "limit");
  EXPECT_EQ(at(whole, "/tokens_evaluated"), "3");
  EXPECT_NE(at(whole, "/tokens/3"), "(none)");
  const auto stream =
      lines("/completion",
            R"({"prompt":"abc","n_predict":4,"temperature":0,"ignore_eos":true,"stream":true})");
  EXPECT_EQ(stream.front().substr(0, 6), "data: ");
  // This vocabulary has no fill-in-the-middle tokens.
  EXPECT_EQ(at(ask("/infill", R"({"input_prefix":"a","input_suffix":"b"})", 400), "/error/code"),
            "unsupported_model");
  EXPECT_EQ(at(ask("/props", ""), "/default_generation_settings/n_ctx"), "2048");
  EXPECT_EQ(at(ask("/slots", ""), "/0/is_processing"), "false");
}

TEST_F(ApiOthers, AtMostWhatFits) {
  // Clients of Ollama and llama.cpp send arbitrarily large limits.
  const auto chat = ask("/api/chat", std::string("{\"stream\":false,") + kHello +
                                         R"(,"options":{"temperature":0,"num_predict":100000}})");
  EXPECT_EQ(at(chat, "/done"), "true");
  EXPECT_EQ(
      at(ask("/completion", R"({"prompt":"abc","n_predict":100000,"temperature":0})"), "/stop"),
      "true");
  EXPECT_EQ(
      at(ask("/v1/completions", R"({"prompt":"abc","max_tokens":100000})", 400), "/error/code"),
      "context_length_exceeded");
}

namespace {

/// Declares letters of the vocabulary as fill-in-the-middle tokens.
class ApiFillMiddle : public ApiOthers {
protected:
  FakeOptions options() override {
    std::string json = fakeTokenizerJson();
    for (const auto &[letter, mark] :
         std::map<std::string, std::string>{{"\"|\":", "\"<fim_prefix>\":"},
                                            {"\"}\":", "\"<fim_suffix>\":"},
                                            {"\"~\":", "\"<fim_middle>\":"}}) {
      EXPECT_NE(json.find(letter), std::string::npos);
      json.replace(json.find(letter), letter.size(), mark);
    }
    auto made = text::compileTokenizerJson(json);
    EXPECT_TRUE(made) << made.error().format();
    FakeOptions options;
    options.tokenizerKind = made->kind;
    options.tokenizerBytes = made->bytes;
    return options;
  }
};

} // namespace

TEST_F(ApiFillMiddle, IsOneAnswerInEveryShape) {
  const std::string gap = R"("temperature":0,"ignore_eos":true)";
  const std::string text =
      at(ask("/infill", R"({"input_prefix":"a","input_suffix":"b","n_predict":5,)" + gap + "}"),
         "/content");
  EXPECT_EQ(at(ask("/v1/completions", R"({"prompt":"a","suffix":"b","max_tokens":5,)" + gap + "}"),
               "/choices/0/text"),
            text);
  const std::string body = R"({"prompt":"a","suffix":"b","max_tokens":5,)" + gap;
  EXPECT_EQ(at(ask("/v1/fim/completions", body + "}"), "/choices/0/message/content"), text);
  EXPECT_EQ(at(ask("/v1/fim/completions", body + "}"), "/usage/prompt_tokens"), "5");
  std::string streamed;
  for (const std::string &line : lines("/v1/fim/completions", body + R"(,"stream":true})"))
    if (line.starts_with("data: {"))
      if (const auto piece = at(parsed(line.substr(6)), "/choices/0/delta/content");
          piece != "(none)")
        streamed += piece;
  EXPECT_EQ(streamed, text);
  const auto card = ask("/api/show", R"({"name":"m:latest"})");
  EXPECT_NE(at(card, "/template").find(".Suffix"), std::string::npos);
  EXPECT_NE(at(card, "/capabilities").find("insert"), std::string::npos);
  EXPECT_EQ(
      at(ask("/api/show", R"({"name":"other"})", 404), "/error"),
      "model: no model has that name; available: m; `ingot serve --any-model-name` accepts any "
      "name");
}

TEST_F(ApiOthers, PathsWithoutAVersion) {
  EXPECT_EQ(at(ask("/models", ""), "/data/0/id"), "m");
  EXPECT_EQ(at(ask("/models/m", ""), "/id"), "m");
  ask("/chat/completions", std::string("{") + kHello + R"(,"max_tokens":1})");
  EXPECT_EQ(at(ask("/completions", R"({"prompt":"a","max_tokens":1})"), "/stop"), "true");
  ask("/v1/health", "");
}

TEST_F(ApiOthers, WhatNoEngineHasIsRefused) {
  // Cohere's clients read "message", vLLM's "error".
  const auto refused = ask("/v2/rerank", R"({"model":"m","query":"a","documents":["b"]})", 400);
  EXPECT_NE(at(refused, "/message").find("no scoring head"), std::string::npos);
  EXPECT_EQ(at(ask("/v1/rerank", R"({"model":"m","documents":["b"]})", 400), "/message"),
            "query: is required");
  EXPECT_EQ(
      at(ask("/v1/rerank", R"({"query":"a","documents":["b"],"top_n":0})", 400), "/error/param"),
      "top_n");
  for (const char *path :
       {"/v1/rerank", "/v2/rerank", "/rerank", "/v1/score", "/score", "/classify"})
    EXPECT_EQ(at(ask(path, R"({"model":"m","query":"a","documents":["b"]})", 400), "/error/code"),
              "unsupported_model");
}

TEST_F(ApiOthers, ModelsInAnthropicsShape) {
  const auto list = parsed(get("/v1/models", "anthropic-version", "2023-06-01"));
  EXPECT_EQ(at(list, "/data/0/type"), "model");
  EXPECT_EQ(at(list, "/data/0/display_name"), "m");
  EXPECT_EQ(at(list, "/has_more"), "false");
  EXPECT_EQ(at(parsed(get("/v1/models/m", "anthropic-version", "2023-06-01")), "/type"), "model");
}

TEST_F(ApiOthers, WhatLmEvalAsksOfATokenizer) {
  const auto info = ask("/tokenizer_info", "");
  EXPECT_EQ(at(info, "/eos_token"), "<eos>");
  EXPECT_NE(at(info, "/chat_template"), "(none)");
}

TEST_F(ApiOthers, MetricsAsOpenMetrics) {
  const std::string plain = get("/metrics", "accept", "*/*");
  EXPECT_NE(plain.find("# TYPE vllm:prompt_tokens_total counter"), std::string::npos);
  EXPECT_NE(plain.find("model_name=\"m\",engine=\"0\""), std::string::npos);
  EXPECT_NE(plain.find("sleep_state=\"awake\"} 1\n"), std::string::npos);
  EXPECT_NE(plain.find("vllm:external_prefix_cache_queries_total{"), std::string::npos);
  EXPECT_NE(plain.find("vllm:request_prefill_kv_computed_tokens_count{"), std::string::npos);
  const std::string open =
      get("/metrics", "accept", "application/openmetrics-text;version=1.0.0,text/plain");
  EXPECT_NE(open.find("# TYPE vllm:prompt_tokens counter"), std::string::npos);
  EXPECT_NE(open.find("# HELP vllm:prompt_tokens Prompt"), std::string::npos);
  EXPECT_NE(open.find("vllm:prompt_tokens_total{"), std::string::npos);
  EXPECT_NE(open.find("# TYPE vllm:iteration_tokens_total histogram"), std::string::npos);
  EXPECT_TRUE(open.ends_with("# EOF\n"));
}

TEST_F(ApiOthers, OpenApiSaysWhatRoutesRead) {
  const auto api = ask("/openapi.json", "");
  const std::string chat =
      "/paths/~1v1~1chat~1completions/post/requestBody/content/application~1json/schema";
  EXPECT_EQ(at(api, chat + "/properties/temperature/type"), "number");
  EXPECT_EQ(at(api, chat + "/properties/temperature/maximum"), "1000000");
  EXPECT_EQ(at(api, chat + "/properties/messages/items/properties/role/enum/0"), "system");
  EXPECT_EQ(at(api, chat + "/required/0"), "messages");
  EXPECT_NE(at(api, "/paths/~1api~1chat/post/requestBody/content/application~1json/schema/"
                    "properties/options/properties/num_predict"),
            "(none)");
  EXPECT_NE(get("/docs", "accept", "text/html").find("POST /v1/completions"), std::string::npos);
}
