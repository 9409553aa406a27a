//===- OtherServersTest.cpp - Routes that clients of Ollama, llama.cpp and others ask for
//-------===//
#include "tests/runtime/service/api/ApiTest.h"

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
    http::Request request;
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
  // Nothing asked for is no error: the model is loaded.
  EXPECT_EQ(at(ask("/api/chat", R"({"model":"m","messages":[]})"), "/done_reason"), "load");
  EXPECT_EQ(at(ask("/api/generate", R"({"model":"m"})"), "/done_reason"), "load");
  EXPECT_EQ(at(ask("/api/generate",
                   R"({"model":"m","prompt":"hello","stream":false,"format":{"const":1}})"),
               "/response"),
            "1");
  // Errors in its own shape, of fields and of routes.
  EXPECT_EQ(
      at(ask("/api/chat", R"({"model":"no","messages":[{"role":"user","content":"a"}]})", 404),
         "/error"),
      "model: there is no model of that name; there is m");
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
  // This vocabulary has no marks of a gap.
  EXPECT_EQ(at(ask("/infill", R"({"input_prefix":"a","input_suffix":"b"})", 400), "/error/code"),
            "unsupported_model");
  EXPECT_EQ(at(ask("/props", ""), "/default_generation_settings/n_ctx"), "2048");
  EXPECT_EQ(at(ask("/slots", ""), "/0/is_processing"), "false");
}

TEST_F(ApiOthers, PathsWithoutAVersion) {
  EXPECT_EQ(at(ask("/models", ""), "/data/0/id"), "m");
  EXPECT_EQ(at(ask("/models/m", ""), "/id"), "m");
  ask("/chat/completions", std::string("{") + kHello + R"(,"max_tokens":1})");
  ask("/completions", R"({"prompt":"a","max_tokens":1})");
  ask("/v1/health", "");
}

TEST_F(ApiOthers, WhatNoEngineHasIsRefused) {
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
  EXPECT_EQ(at(api, chat + "/properties/temperature/maximum"), "2");
  EXPECT_EQ(at(api, chat + "/properties/messages/items/properties/role/enum/0"), "system");
  EXPECT_EQ(at(api, chat + "/required/0"), "messages");
  EXPECT_NE(at(api, "/paths/~1api~1chat/post/requestBody/content/application~1json/schema/"
                    "properties/options/properties/num_predict"),
            "(none)");
  EXPECT_NE(get("/docs", "accept", "text/html").find("POST /v1/completions"), std::string::npos);
}
