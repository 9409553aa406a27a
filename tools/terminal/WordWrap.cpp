//===- WordWrap.cpp - See WordWrap.h --------------------------------------===//
#include "tools/terminal/WordWrap.h"

#include <algorithm>
#include <cstdint>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ingot::cli {

/// Returns the length in bytes of the character that starts with `first`; 1 if no character does.
static size_t lengthOf(unsigned char first) {
  return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

/// Returns the width of a character: 2 for the scripts and symbols that terminals draw wide, else 1.
static size_t columnsOf(std::string_view character) {
  if (character.size() < 3)
    return 1;
  uint32_t code = static_cast<unsigned char>(character[0]) & (character.size() == 3 ? 0x0f : 0x07);
  for (char c : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3f);
  const bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
                    (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

void WordWrap::add(std::string &out, std::string_view character) {
  if (character == "\n" || character == "\r") {
    out += character;
    column = wordColumns = 0;
    word.clear();
    return;
  }
  const size_t width = columnsOf(character);
  const bool blank = character == " " || character == "\t";
  if (column + width > columns && !blank && wordColumns > 0 && wordColumns < column) {
    // Moves back to the start of the word. After the last column is filled, the cursor stays on it, hence the
    // -1. A count of 0 is skipped, because the escape sequence treats it as 1.
    const size_t back = wordColumns - (column == columns ? 1 : 0);
    if (back > 0)
      out += "\033[" + std::to_string(back) + "D";
    out += "\033[K\n" + word;
    column = wordColumns;
  }
  out += character;
  column = column + width > columns ? width : column + width;
  word = blank ? std::string() : word.append(character);
  wordColumns = blank ? 0 : wordColumns + width;
}

std::string WordWrap::operator()(std::string_view text) {
  if (columns == 0)
    return std::string(text);
  std::string out, all = rest + std::string(text);
  size_t at = 0;
  while (at < all.size()) {
    const size_t length = lengthOf(static_cast<unsigned char>(all[at]));
    if (at + length > all.size())
      break;
    add(out, std::string_view(all).substr(at, length));
    at += length;
  }
  rest = all.substr(at);
  return out;
}

size_t terminalColumns() {
  winsize size = {};
  return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

} // namespace ingot::cli
