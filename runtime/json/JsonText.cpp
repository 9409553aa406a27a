//===- JsonText.cpp - See JsonText.h --------------------------------------===//
#include "runtime/json/JsonText.h"

#include <cmath>
#include <cstdio>

namespace ingot::runtime {

/// Returns the length of the UTF-8 sequence at the start of `s`, or 0 if `s` starts with none (RFC 3629).
static size_t utf8Length(std::string_view s) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  unsigned lead = byte(0);
  if (lead < 0x80)
    return 1;
  if (lead >= 0xC2 && lead <= 0xDF)
    return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF)
    return tail(1) && tail(2) && !(lead == 0xE0 && byte(1) < 0xA0) &&
                   !(lead == 0xED && byte(1) > 0x9F)
               ? 3
               : 0;
  if (lead >= 0xF0 && lead <= 0xF4)
    return tail(1) && tail(2) && tail(3) && !(lead == 0xF0 && byte(1) < 0x90) &&
                   !(lead == 0xF4 && byte(1) > 0x8F)
               ? 4
               : 0;
  return 0;
}

/// Returns the escape of a character that other languages treat as the end of a line (NEL, LINE SEPARATOR, PARAGRAPH
/// SEPARATOR), or "" for other characters. Without the escape, clients that split streams at such characters, as
/// Python's splitlines() does, would cut an event in two.
static std::string_view escapeOfLineEnd(std::string_view character) {
  return character == "\xC2\x85"       ? "\\u0085"
         : character == "\xE2\x80\xA8" ? "\\u2028"
         : character == "\xE2\x80\xA9" ? "\\u2029"
                                       : "";
}

void JsonText::separate() {
  if (!first && !afterKey)
    out += ',';
  first = afterKey = false;
}

void JsonText::quote(std::string_view text) {
  out += '"';
  while (!text.empty()) {
    size_t length = utf8Length(text);
    unsigned char c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += text[0];
    } else if (c < 0x20 || c == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else if (auto escape = escapeOfLineEnd(text.substr(0, length)); !escape.empty()) {
      out += escape;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

JsonText &JsonText::open(char bracket) {
  separate();
  out += bracket;
  closers += bracket == '{' ? '}' : ']';
  first = true;
  return *this;
}

JsonText &JsonText::close() {
  out += closers.back();
  closers.pop_back();
  first = false;
  return *this;
}

JsonText &JsonText::key(std::string_view name) {
  separate();
  quote(name);
  out += ':';
  afterKey = true;
  return *this;
}

JsonText &JsonText::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

JsonText &JsonText::value(double number) {
  if (!std::isfinite(number))
    return raw("null");
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return raw(text);
}

JsonText &JsonText::raw(std::string_view json) {
  separate();
  out += json;
  return *this;
}

} // namespace ingot::runtime
