// Tests streaming, which emits only whole characters and never a stop string.

#include "runtime/text/Json.h"
#include "runtime/text/Text.h"

#include <gtest/gtest.h>
#include <random>

using namespace ingot::text;

namespace {

std::string run(StopMatcher &matcher, const std::vector<std::string> &pieces) {
  std::string text;
  for (const std::string &piece : pieces)
    text += matcher.push(piece);
  return text + matcher.flush();
}

std::vector<std::string> characters(const std::string &text) {
  std::vector<std::string> pieces;
  for (char c : text)
    pieces.push_back(std::string(1, c));
  return pieces;
}

} // namespace

TEST(StopMatcher, holdsBackOnlyWhatCouldBecomeAStop) {
  StopMatcher matcher({"</s>", "###"});
  EXPECT_EQ(matcher.push("abc<"), "abc");
  EXPECT_EQ(matcher.push("b>"), "<b>");
  EXPECT_EQ(matcher.push("x##"), "x");
  EXPECT_EQ(matcher.push("y"), "##y");
  EXPECT_EQ(matcher.push("#</"), "#"); // "</" rules out that "#" becomes "###"
  EXPECT_EQ(matcher.push("s>rest"), "");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.match(), "</s>");
  EXPECT_EQ(matcher.push("more"), "");
  EXPECT_EQ(matcher.flush(), "");
}

TEST(StopMatcher, givesTheHeldTextAtTheEnd) {
  StopMatcher matcher({"stop"});
  EXPECT_EQ(matcher.push("say sto"), "say ");
  EXPECT_EQ(matcher.flush(), "sto");
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, firstCompleteStopWinsHoweverTheTextIsCut) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    auto letters = [&](int least, int most) {
      std::string s;
      for (int n = least + int(random() % unsigned(most - least + 1)); n > 0; --n)
        s += char('a' + random() % 2);
      return s;
    };
    std::vector<std::string> stops = {letters(1, 5), letters(1, 5), letters(3, 6)};
    std::string text = letters(0, 30);

    StopMatcher whole(stops), cut(stops), parts(stops);
    std::string expected = run(whole, {text});
    EXPECT_EQ(run(cut, characters(text)), expected);
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      size_t n = 1 + random() % 6;
      pieces.push_back(text.substr(at, n));
      at += n;
    }
    EXPECT_EQ(run(parts, pieces), expected);
    EXPECT_EQ(whole.match(), cut.match());
    EXPECT_EQ(whole.match(), parts.match());

    bool found = false;
    for (const std::string &stop : stops) {
      found |= text.find(stop) != std::string::npos;
      EXPECT_EQ(expected.find(stop), std::string::npos) << stop << " leaked from " << text;
    }
    EXPECT_EQ(whole.stopped(), found);
    EXPECT_EQ(text.substr(0, expected.size()), expected);
    if (!found)
      EXPECT_EQ(expected, text);
  }
}

TEST(StopMatcher, ignoresEmptyStrings) {
  StopMatcher matcher({"", ""});
  EXPECT_EQ(matcher.push("text"), "text");
  EXPECT_FALSE(matcher.stopped());
}

TEST(Utf8, invalidPartsBecomeOneReplacementEach) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(replaceInvalidUtf8("plain é 日 😀"), "plain é 日 😀");
  EXPECT_EQ(replaceInvalidUtf8("\xFF\xFE"), r + r);
  EXPECT_EQ(replaceInvalidUtf8("a\xE6\x97"
                               "b"),
            "a" + r + "b");                                         // one truncated character
  EXPECT_EQ(replaceInvalidUtf8("\xF0\x9F\x98"), r);                 // at the end
  EXPECT_EQ(replaceInvalidUtf8("\xC0\xAF"), r + r);                 // overlong
  EXPECT_EQ(replaceInvalidUtf8("\xED\xA0\x80"), r + r + r);         // surrogate
  EXPECT_EQ(replaceInvalidUtf8("\xF4\x90\x80\x80"), r + r + r + r); // beyond U+10FFFF
  EXPECT_EQ(replaceInvalidUtf8("\xE0\x80\x80x"), r + r + r + "x");
}

TEST(Json, escapesWhatJsonNeeds) {
  EXPECT_EQ(jsonString("a\"b\\c\n\x01é\xFF"), "\"a\\\"b\\\\c\\u000a\\u0001é\xEF\xBF\xBD\"");
}
