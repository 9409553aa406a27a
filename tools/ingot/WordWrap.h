//===- WordWrap.h - A streamed answer breaks between words ----------------===//
//
// A terminal breaks a line where its last column is, in the middle of a word. The word that crosses it has been
// printed already when that is seen: it is taken back and begins the next line.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot::cli {

class WordWrap {
public:
  /// For a terminal of so many columns; 0: text passes as it is.
  explicit WordWrap(size_t columns) : columns(columns) {}

  /// What to write for the next piece of UTF-8, whole characters or not.
  std::string operator()(std::string_view text);

private:
  void add(std::string &out, std::string_view character);

  size_t columns, column = 0, wordColumns = 0;
  std::string word, rest; ///< since the last blank; of a character that is not whole
};

/// Columns of the terminal on standard output; 0 where it is none.
size_t terminalColumns();

} // namespace ingot::cli
