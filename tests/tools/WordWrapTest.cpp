//===- WordWrapTest.cpp - The terminal's contents after a streamed answer ----===//
#include "tools/terminal/WordWrap.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

using ingot::cli::WordWrap;

namespace {

/// Returns how a terminal of `columns` shows the bytes: a character past the last column goes to the next
/// line.
std::vector<std::string> screen(const std::string &bytes, size_t columns) {
  std::vector<std::vector<std::string>> lines(1);
  size_t column = 0;
  for (size_t i = 0; i < bytes.size();) {
    if (bytes[i] == '\033') {
      char *end = nullptr;
      const size_t count = std::strtoull(&bytes[i + 2], &end, 10);
      if (*end == 'D')
        column = std::min(column, columns - 1) - count;
      else
        lines.back().resize(std::min(column, columns - 1));
      i = static_cast<size_t>(end - bytes.data()) + 1;
      continue;
    }
    if (bytes[i] == '\n') {
      lines.emplace_back(), column = 0, ++i;
      continue;
    }
    size_t length = 1;
    while (i + length < bytes.size() && (bytes[i + length] & 0xc0) == 0x80)
      ++length;
    if (column == columns)
      lines.emplace_back(), column = 0;
    lines.back().resize(std::max(lines.back().size(), column + 1));
    lines.back()[column++] = bytes.substr(i, length);
    i += length;
  }
  std::vector<std::string> texts;
  for (const auto &line : lines) {
    std::string &text = texts.emplace_back();
    for (const std::string &character : line)
      text += character;
  }
  return texts;
}

std::vector<std::string> streamed(const std::string &text, size_t columns, size_t piece) {
  WordWrap wrap(columns);
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += piece)
    bytes += wrap(text.substr(i, piece));
  return screen(bytes, columns);
}

TEST(WordWrap, WordsStayWhole) {
  for (size_t piece : {1, 2, 3, 5, 100}) {
    EXPECT_EQ(streamed("the language of a machine", 10, piece),
              (std::vector<std::string>{"the ", "language ", "of a ", "machine"}));
    // Only one letter of the word that crosses the edge is before the edge.
    EXPECT_EQ(streamed("123456789 ab", 11, piece), (std::vector<std::string>{"123456789 ", "ab"}));
    EXPECT_EQ(streamed("caf\u00e9 cr\u00e8me \u00e9t\u00e9", 10, piece),
              (std::vector<std::string>{"caf\u00e9 cr\u00e8me", " \u00e9t\u00e9"}));
    // A word longer than a line breaks where the terminal breaks it.
    EXPECT_EQ(streamed("aaaaaaaaaaaa b", 5, piece),
              (std::vector<std::string>{"aaaaa", "aaaaa", "aa b"}));
    EXPECT_EQ(streamed("one\ntwo three", 8, piece),
              (std::vector<std::string>{"one", "two ", "three"}));
  }
}

TEST(WordWrap, NoTerminalNoChange) {
  WordWrap wrap(0);
  EXPECT_EQ(wrap("a long line that nobody breaks"), "a long line that nobody breaks");
}

} // namespace
