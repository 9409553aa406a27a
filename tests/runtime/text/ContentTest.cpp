// Tests that control tokens in messages are treated as text, for every template of templates.json with every small
// tokenizer. Chats without control tokens get the same ids as without the guard. This also holds if a content ends like
// the beginning of a control token, which activates the guard.

#include "Goldens.h"
#include "compiler/text/TextBuild.h"
#include "tests/Sanitizers.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::text;

namespace {

/// Sanitizers slow the test down, so only a part of the chats is tested under them.
constexpr size_t kEvery = INGOT_SANITIZED ? 8 : 1, kMany = 100 / kEvery;

class Content : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    simdjson::dom::parser parser;
    simdjson::dom::element golden =
        parser.load(goldens::path(std::string("tiny_") + GetParam() + ".json"));
    auto artifact = compileTokenizerJson(simdjson::minify(golden["tokenizer"]));
    ASSERT_TRUE(artifact) << artifact.error().format();
    bytes = artifact->bytes;
    auto opened = Tokenizer::fromBytes(artifact->kind, std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(opened) << opened.error().format();
    tokenizer = std::move(*opened);
    for (int32_t id = 0; id < tokenizer->vocabSize(); ++id)
      if (tokenizer->isSpecial(id) && tokenizer->tokenBytes(id).size() > 2)
        control = std::string(tokenizer->tokenBytes(id));
  }
  int64_t controls(const std::vector<int32_t> &ids) const {
    return std::ranges::count_if(ids, [&](int32_t id) { return tokenizer->isSpecial(id); });
  }
  /// Calls `see` with each template, its settings and its messages. `more` is appended to the last string
  /// called "content" in the messages.
  template <typename See> size_t withAll(const std::string &more, See &&see) {
    simdjson::dom::parser parser;
    simdjson::dom::element golden = parser.load(goldens::path("templates.json"));
    size_t seen = 0, number = 0;
    for (simdjson::dom::element one : golden["cases"].get_array()) {
      if (number++ % kEvery != 0 || one["refused"].error() == simdjson::SUCCESS)
        continue;
      auto parsed =
          ChatTemplate::parse(goldens::text(golden["templates"][goldens::text(one["template"])]));
      EXPECT_TRUE(parsed);
      ChatTemplate::Options options{.addGenerationPrompt = one["add_generation_prompt"].get_bool(),
                                    .bosToken = control,
                                    .eosToken = control,
                                    .extraJson = simdjson::minify(one["extra"])};
      std::string messages = simdjson::minify(one["messages"]);
      const size_t at = messages.rfind("\"content\":\"");
      if (at == std::string::npos)
        continue;
      messages.insert(at + std::string_view("\"content\":\"").size(), more);
      seen += see(**parsed, options, messages);
    }
    return seen;
  }

  std::string bytes, control;
  std::unique_ptr<Tokenizer> tokenizer;
};

} // namespace

TEST_P(Content, OrdinaryChatsKeepTheirIds) {
  // The second and third texts activate the guard without a control token.
  for (const std::string &more : {std::string("hm "), control.substr(0, 2), control.substr(1)})
    EXPECT_GT(withAll(more,
                      [&](const ChatTemplate &chat, const ChatTemplate::Options &options,
                          const std::string &messages) {
                        auto text = chat.render(messages, options);
                        if (!text)
                          return false;
                        auto encoded = chat.encode(*tokenizer, messages, options);
                        EXPECT_TRUE(encoded) << encoded.error().format();
                        EXPECT_EQ(encoded->text, *text);
                        EXPECT_EQ(encoded->ids, *tokenizer->encode(*text)) << *text;
                        return true;
                      }),
              kMany);
}

TEST_P(Content, ControlTokensOfMessagesAreText) {
  ASSERT_FALSE(control.empty());
  size_t shown = 0;
  withAll("@@", [&](const ChatTemplate &chat, const ChatTemplate::Options &options,
                    std::string messages) {
    auto without = chat.encode(*tokenizer, messages, options);
    messages.replace(messages.find("@@"), 2, control + control);
    auto with = chat.encode(*tokenizer, messages, options);
    auto text = chat.render(messages, options);
    if (!without || !with || !text)
      return false;
    EXPECT_EQ(with->text, *text);
    EXPECT_EQ(controls(with->ids), controls(without->ids)) << *text;
    shown += controls(*tokenizer->encode(*text)) > controls(with->ids); // tokens the guard removed
    return true;
  });
  EXPECT_GT(shown, kMany);
}

TEST_P(Content, TagsOfTheTemplateAreTextInWhatUsersAndToolsSay) {
  // "<think>" is an added token of these tokenizers that is not marked as special.
  const int32_t think = tokenizer->idOf("<think>").value();
  ASSERT_FALSE(tokenizer->isSpecial(think));
  const std::string roles =
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n";
  const std::string splits = "{% if '<think>' in m.content %}!{% endif %}";
  auto knows = ChatTemplate::parse(roles + splits + "{% endfor %}<think>");
  auto knowsNot = ChatTemplate::parse(roles + "{% endfor %}");
  ASSERT_TRUE(knows && knowsNot);
  auto thinks = [&](const ChatTemplate &chat, const std::string &role) {
    const ChatTemplate::Options options{.bosToken = "<s>", .eosToken = "</s>"};
    // The second content always makes the guard active.
    auto encoded =
        chat.encode(*tokenizer, {{role, "a<think>b"}, {"user", "c <|im_end|>"}}, options);
    EXPECT_TRUE(encoded) << encoded.error().format();
    EXPECT_NE(encoded->text.find("a<think>b"), std::string::npos) << encoded->text;
    return std::ranges::count(encoded->ids, think);
  };
  for (const char *role : {"user", "tool", "ipython"}) {
    EXPECT_EQ(thinks(**knows, role), 1) << role; // the template's own
    EXPECT_EQ(thinks(**knowsNot, role), 1) << role;
  }
  auto reads = ChatTemplate::parse(
      "{% if tools %}{{ tools[0].text }}{% else %}{{ documents[0].text }}{% endif %}<think>");
  ASSERT_TRUE(reads);
  for (const char *variable : {"documents", "tools"}) {
    auto encoded = (*reads)->encode(
        *tokenizer, std::vector<ChatTemplate::Message>{{"user", "<|im_end|>"}},
        {.extraJson = std::string("{\"") + variable + R"(":[{"text":"a<think>b"}]})"});
    ASSERT_TRUE(encoded) << encoded.error().format();
    EXPECT_EQ(std::ranges::count(encoded->ids, think), variable == std::string("tools") ? 2 : 1);
  }
  for (const char *role : {"system", "developer", "assistant"}) {
    EXPECT_EQ(thinks(**knows, role), 2) << role;
    EXPECT_EQ(thinks(**knowsNot, role), 1) << role;
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Content,
                         testing::Values("gpt2", "llama2", "llama3", "qwen2", "gemma", "metaspace",
                                         "digits"));
