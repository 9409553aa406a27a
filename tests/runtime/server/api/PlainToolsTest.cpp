//===- PlainToolsTest.cpp - Tools for chat templates without tool support --===//
#include "runtime/server/api/PlainTools.h"

#include <gtest/gtest.h>

using namespace ingot;

namespace {

constexpr const char *kTools =
    R"([{"type": "function", "function": {"name": "f", "description": "", "parameters": {}}}])";

std::string prompt(const std::string &source, const std::string &messages) {
  auto own = text::ChatTemplate::parse(source);
  EXPECT_TRUE(own) << own.error().format();
  auto text = (*own)->render(api::plainToolMessages(**own, messages, kTools), {});
  return text ? *text : text.error().format();
}

// Gemma 2's template: no system message, and roles must alternate.
const std::string kGemma2 =
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "<{{ m['role'] }}>{{ m['content'] | trim }}\n{% endfor %}";

} // namespace

TEST(PlainTools, areToldBeforeTheFirstQuestionWhereATemplateTakesNoSystemMessage) {
  const std::string text = prompt(kGemma2, R"([{"role": "user", "content": "Hi"}])");
  EXPECT_TRUE(text.starts_with("<user>")) << text;
  EXPECT_NE(text.find("\"f\""), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\n\nHi\n")) << text;
}

TEST(PlainTools, resultsThatFollowOneAnotherAreOneMessage) {
  const std::string text = prompt(
      kGemma2,
      R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": [
          {"function": {"name": "f", "arguments": "{}"}}, {"function": {"name": "f", "arguments": "{}"}}]},
          {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}])");
  EXPECT_NE(text.find("<user><tool_response>\n1\n</tool_response>\n<tool_response>\n2\n"
                      "</tool_response>\n"),
            std::string::npos)
      << text;
}

TEST(PlainTools, areToldInTheSystemMessageElse) {
  const std::string text =
      prompt("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}",
             R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])");
  EXPECT_TRUE(text.starts_with("<system>Be brief.\n\n")) << text;
  EXPECT_TRUE(text.ends_with("<user>Hi")) << text;
}
