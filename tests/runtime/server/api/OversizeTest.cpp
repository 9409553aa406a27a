//===- OversizeTest.cpp - Texts that are refused before tokenisation --------===//
#include "tests/runtime/server/api/ApiTest.h"

#include <ctime>

using namespace ingot;
using namespace ingot::test;

namespace {

class ApiOversize : public ApiTest {
protected:
  void SetUp() override {
    ApiTest::SetUp();
    serve({}, "{% for m in messages %}{{ m.content }}{% endfor %}");
  }
  static std::string words(size_t bytes) {
    std::string text;
    while (text.size() < bytes)
      text += "some words ";
    return text;
  }
  /// Expects a refusal as too long that names the field. Returns the seconds of processor time it took.
  double refused(const std::string &path, const std::string &body, const std::string &field) {
    const std::clock_t begin = std::clock();
    auto json = ask(path, body, 400);
    EXPECT_EQ(at(json, "/error/code"), "context_length_exceeded") << path;
    EXPECT_EQ(at(json, "/error/param"), field) << path;
    return double(std::clock() - begin) / CLOCKS_PER_SEC;
  }
};

} // namespace

/// Encoding them whole would take seconds and a gigabyte of memory.
TEST_F(ApiOversize, LongTextsAreRefusedAtOnce) {
  const std::string text = words(7'800'000);
  EXPECT_LT(refused("/v1/completions", R"({"prompt":")" + text + R"("})", "prompt"), 2);
  EXPECT_LT(refused("/v1/completions", R"({"prompt":["a",")" + text + R"("]})", "prompt"), 2);
  EXPECT_LT(refused("/v1/embeddings", R"({"input":")" + text + R"("})", "input"), 2);
  EXPECT_LT(refused("/v1/chat/completions",
                    R"({"messages":[{"role":"user","content":")" + words(3'000'000) + R"("}]})",
                    "messages"),
            2);
}

TEST_F(ApiOversize, ShortOnesAreToldTheirNumbers) {
  auto json = ask("/v1/completions", R"({"prompt":")" + words(4000) + R"("})", 400);
  EXPECT_NE(at(json, "/error/message").find(" in the prompt, "), std::string::npos)
      << at(json, "/error/message");
}

/// A request is validated with each of its prompts before any of them is queued.
TEST_F(ApiOversize, OneOfSeveralPromptsIsTooLong) {
  std::string ids = "1";
  for (int i = 1; i < 3000; ++i)
    ids += ",1";
  for (const std::string &prompts : {"[[1,2],[" + ids + "]]", "[[" + ids + "],[1,2]]"}) {
    auto json = ask("/v1/completions", R"({"prompt":)" + prompts + R"(,"max_tokens":5})", 400);
    EXPECT_EQ(at(json, "/error/code"), "context_length_exceeded");
    EXPECT_EQ(at(json, "/error/param"), "prompt");
    EXPECT_EQ(at(json, "/error/n_prompt_tokens"), "3000");
    EXPECT_NE(at(json, "/error/message").find("(3000 in the prompt, 5 in the completion)"),
              std::string::npos)
        << at(json, "/error/message");
  }
  EXPECT_EQ(models->all().front()->service().underWay(), 0);
  EXPECT_EQ(models->all().front()->service().metrics().read().promptTokens, 0u);
}

TEST_F(ApiOversize, TextsThatAreToldAsIdsHaveABound) {
  const std::string text = words(1 << 20); // slightly more than 1 MiB
  EXPECT_EQ(at(ask("/tokenize", R"({"prompt":")" + text + R"("})", 400), "/error/message"),
            "prompt: has " + std::to_string(text.size()) + " bytes; allowed: 1048576");
  const std::string chat =
      R"({"messages":[{"role":"user","content":")" + text + R"("}],"max_tokens":1})";
  EXPECT_EQ(at(ask("/tokenize", chat, 400), "/error/param"), "messages");
  EXPECT_EQ(at(ask("/v1/messages/count_tokens", chat, 400), "/error/message"),
            "messages: are " + std::to_string(text.size()) + " bytes of text; allowed: 1048576");
}

TEST_F(ApiOversize, CodedBodiesAreRefusedByName) {
  auto response = std::make_shared<KeptResponse>();
  http::HttpRequest request;
  request.method = "POST";
  request.path = "/v1/completions";
  request.body = "\x1f\x8b";
  request.headers = {{"content-encoding", "gzip"}};
  thread.push([&] { routes->handle(request, response); });
  ASSERT_TRUE(response->wait());
  EXPECT_EQ(response->status, 415);
  EXPECT_NE(response->body.find("Content-Encoding: gzip is not supported"), std::string::npos)
      << response->body;
}
