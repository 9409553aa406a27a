//===- Codes.cpp - What an error code means -----------------------------------===//
#include "runtime/error/Codes.h"

#include <algorithm>
#include <iterator>

namespace ingot::errors {

namespace {

constexpr Entry kEntries[] = {
#define INGOT_ERROR(code, exit, title, cause, remedy) {#code, ExitCode::exit, title, cause, remedy},
#include "runtime/error/Codes.def"
};

constexpr bool precedes(const Entry &a, const Entry &b) { return a.code < b.code; }
static_assert(std::ranges::is_sorted(kEntries, precedes), "codes must be in ascending order");

} // namespace

std::span<const Entry> all() { return kEntries; }

const Entry *find(std::string_view code) {
  const Entry *found = std::ranges::lower_bound(kEntries, code, {}, &Entry::code);
  return found != std::end(kEntries) && found->code == code ? found : nullptr;
}

bool isCode(std::string_view word) {
  return word.size() == 5 && (word[0] == 'E' || word[0] == 'e') &&
         std::ranges::all_of(word.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string_view> nearestCodes(std::string_view code) {
  const Entry *above = std::ranges::lower_bound(kEntries, code, {}, &Entry::code);
  std::vector<std::string_view> codes;
  if (above != std::begin(kEntries))
    codes.push_back(std::prev(above)->code);
  if (above != std::end(kEntries))
    codes.push_back(above->code);
  return codes;
}

std::string inLines(std::string_view text, size_t columns) {
  std::string lines;
  while (text.size() > columns) {
    const size_t blank = text.rfind(' ', columns);
    const size_t end = blank == text.npos ? text.find(' ') : blank;
    if (end == text.npos)
      break;
    lines += std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return lines + std::string(text) + "\n";
}

} // namespace ingot::errors
