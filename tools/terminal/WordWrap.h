//===- WordWrap.h - Word wrap of a streamed answer ------------------------===//
//
// A terminal breaks a line at its last column, even in the middle of a word. By the time a word turns out to
// cross that column, its start has been printed; it is erased and reprinted on the next line.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot::cli {

class WordWrap {
public:
  /// `columns` is the width of the terminal; 0: text passes unchanged.
  explicit WordWrap(size_t columns) : columns(columns) {}

  /// Returns the text to write for the next piece of UTF-8, which may end inside a character.
  std::string operator()(std::string_view text);

private:
  void add(std::string &out, std::string_view character);

  size_t columns, column = 0, wordColumns = 0;
  std::string word, rest; ///< text since the last blank; bytes of an incomplete character
};

/// Returns the width of the terminal on standard output; 0 if it is not a terminal.
size_t terminalColumns();

} // namespace ingot::cli
