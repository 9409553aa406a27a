//===- ImportErrors.cpp - Messages about the user's files -----------------===//
#include "compiler/import/error/ImportErrors.h"

#include <simdjson.h>

namespace ingot::import {

Error refuse(const char *code, std::string what, std::string why, std::string fix) {
  return Error{ExitCode::File, code, std::move(what), std::move(why), std::move(fix)};
}

std::string inQuotes(std::string_view text, size_t limit) {
  std::string_view shown = text.substr(0, limit);
  // Do not split a character.
  while (shown.size() < text.size() && !shown.empty() && (text[shown.size()] & 0xC0) == 0x80)
    shown.remove_suffix(1);
  bool utf8 = simdjson::validate_utf8(shown.data(), shown.size());
  std::string result = "'";
  for (char c : shown) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !utf8)) {
      constexpr char kHex[] = "0123456789abcdef";
      result += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      result += c;
    }
  }
  result += shown.size() < text.size() ? "…'" : "'";
  return result;
}

std::string wholePath(std::string_view path) { return inQuotes(path, 4096); }

std::string fileName(const std::string &path) {
  size_t end = path.find_last_not_of('/'); // the name of a folder may end with a slash
  if (end == std::string::npos)
    return inQuotes(path);
  size_t slash = path.find_last_of('/', end);
  size_t start = slash == std::string::npos ? 0 : slash + 1;
  return inQuotes(std::string_view(path).substr(start, end + 1 - start));
}

bool isPlainName(std::string_view text) {
  for (char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      return false;
  return simdjson::validate_utf8(text.data(), text.size());
}

} // namespace ingot::import
