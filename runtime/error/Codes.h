//===- Codes.h - What an error code means ------------------------------------===//
//
// The rows of Codes.def at run time, in ascending order of codes.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::errors {

struct Entry {
  std::string_view code; ///< "E0505"
  ExitCode exit;
  std::string_view title;  ///< what happened, without a full stop
  std::string_view cause;  ///< sentences, with code in backquotes
  std::string_view remedy; ///< like `cause`
};

std::span<const Entry> all();

/// Returns the row of a code, or nullptr.
const Entry *find(std::string_view code);

/// Returns whether the word has the form of a code: an E, or an e, and four digits.
bool isCode(std::string_view word);

/// Returns the existing codes nearest to `code` in number: the last one below it and the first one above it. `code`
/// must have the form of a code.
std::vector<std::string_view> nearestCodes(std::string_view code);

/// Breaks sentences at blanks into lines of at most `columns` bytes, each with a line feed at its end. A longer
/// word has a line of its own.
std::string inLines(std::string_view text, size_t columns);

} // namespace ingot::errors
