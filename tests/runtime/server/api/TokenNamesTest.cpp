//===- TokenNamesTest.cpp - Token names, offsets and stops in answers -------===//
#include "tests/runtime/server/api/ApiTest.h"

using namespace ingot;
using namespace ingot::test;

namespace {

class TokenNames : public ApiTest {
protected:
  void SetUp() override {
    ApiTest::SetUp();
    serve({}, "{% for m in messages %}{{ m.content }}{% endfor %}");
  }
  simdjson::dom::element complete(const std::string &fields) {
    return ask("/v1/completions", R"({"temperature":0,"ignore_eos":true,)" + fields + "}");
  }
};

constexpr const char *kLogprobs = "/choices/0/logprobs";

} // namespace

TEST_F(TokenNames, PartsOfCharactersAreSpelledAsBytes) {
  // Id 95 is the byte 0xC3, half of a character.
  const auto answer = complete(
      R"("prompt":[64,95,65],"max_tokens":2,"allowed_token_ids":[95],"echo":true,"logprobs":2)");
  EXPECT_EQ(at(answer, kLogprobs + std::string("/tokens")),
            R"(["a","bytes:\\xc3","b","bytes:\\xc3","bytes:\\xc3"])");
  EXPECT_NE(at(answer, kLogprobs + std::string("/top_logprobs/3/bytes:\\xc3")), "(none)");
}

TEST_F(TokenNames, OffsetsAreCodePointsAndNeverFall) {
  for (const char *prompt : {"[64,95,65,95,95,66]", "\"ab c\"", "[95,64]"})
    for (const char *echo : {"true", "false"}) {
      const auto answer =
          complete(std::string(R"("prompt":)") + prompt +
                   R"(,"max_tokens":6,"allowed_token_ids":[95,64],"logit_bias":{"95":3},)" +
                   R"("n":2,"logprobs":0,"echo":)" + echo);
      for (const char *choice : {"/choices/0", "/choices/1"}) {
        simdjson::dom::array offsets;
        ASSERT_FALSE(answer.at_pointer(choice + std::string("/logprobs/text_offset")).get(offsets));
        const std::string text = at(answer, choice + std::string("/text"));
        const auto points = std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
        int64_t last = 0;
        for (int64_t offset : offsets) {
          EXPECT_GE(offset, last) << simdjson::minify(offsets);
          EXPECT_LE(offset, points) << simdjson::minify(offsets) << text;
          last = offset;
        }
        EXPECT_EQ(int64_t(offsets.at(0)), 0);
      }
    }
  EXPECT_EQ(at(complete(R"("prompt":[64,95,65],"max_tokens":1,"echo":true,"logprobs":0)"),
               kLogprobs + std::string("/text_offset")),
            "[0,1,1,3]"); // "a\ufffdb" and the answer
}

TEST_F(TokenNames, TheChosenTokenIsAmongTheLikeliest) {
  const auto answer = complete(R"("prompt":"abc","max_tokens":2,"logprobs":0)");
  const std::string token = at(answer, kLogprobs + std::string("/tokens/0"));
  EXPECT_EQ(at(answer, kLogprobs + std::string("/top_logprobs/0/") + token),
            at(answer, kLogprobs + std::string("/token_logprobs/0")));
}

TEST_F(TokenNames, WhatEndedAnAnswer) {
  const std::string body = R"("prompt":"x","max_tokens":9,"allowed_token_ids":[64,65])";
  const auto text = at(complete(body), "/choices/0/text");
  auto ended = [&](const std::string &fields, const char *name) {
    return at(complete(body + fields), "/choices/0/" + std::string(name));
  };
  EXPECT_EQ(ended("", "stop_reason") + ended("", "matched_stop"), "(none)(none)");
  const std::string stop = ",\"stop\":\"" + text.substr(2, 1) + "\"";
  EXPECT_EQ(ended(stop, "stop_reason"), text.substr(2, 1));
  EXPECT_EQ(ended(stop, "matched_stop"), text.substr(2, 1));
  const std::string id = std::to_string(text[0] - '!');
  EXPECT_EQ(ended(",\"stop_token_ids\":[" + id + "]", "stop_reason"), id);
  EXPECT_EQ(ended(",\"stop_token_ids\":[" + id + "]", "matched_stop"), id);
  // An id that ends every answer is reported only in SGLang's field.
  const auto eos =
      ask("/v1/completions", R"({"prompt":"x","max_tokens":9,"allowed_token_ids":[96]})");
  EXPECT_EQ(at(eos, "/choices/0/stop_reason"), "(none)");
  EXPECT_EQ(at(eos, "/choices/0/matched_stop"), "96");
  auto stream = begin("/v1/chat/completions",
                      R"({"messages":[{"role":"user","content":"x"}],"max_tokens":9,"stream":true,)"
                      R"("allowed_token_ids":[96]})");
  ASSERT_TRUE(stream->wait());
  EXPECT_NE(stream->body.find(R"("finish_reason":"stop","stop_reason":null,"matched_stop":96)"),
            std::string::npos)
      << stream->body;
}
