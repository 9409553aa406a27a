//===- JsonMender.cpp - Turns JSON as models write it into valid JSON ------===//

#include "runtime/text/JsonMender.h"
#include "runtime/text/ToolCallReader.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ingot::text {

namespace {

constexpr std::string_view kReplacementEscape = "\\ufffd";

constexpr bool isWordPart(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
         c == '+' || c == '.' || static_cast<unsigned char>(c) >= 0x80;
}

uint32_t hexOf(std::string_view digits) {
  uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}
constexpr bool isHigh(uint32_t code) { return code >= 0xd800 && code < 0xdc00; }
constexpr bool isLow(uint32_t code) { return code >= 0xdc00 && code < 0xe000; }

void appendString(std::string &out, std::string_view text) {
  out += '"';
  for (char c : text)
    appendEscaped(out, c);
  out += '"';
}

} // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && isSpace(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isSpace(text.back()))
    text.remove_suffix(1);
  return text;
}

bool isJsonNumber(std::string_view text) {
  size_t at = 0;
  auto digits = [&] {
    size_t begin = at;
    while (at < text.size() && isDigit(text[at]))
      ++at;
    return at > begin;
  };
  at += text.starts_with('-');
  bool zero = text.substr(at).starts_with('0');
  size_t begin = at;
  if (!digits() || (zero && at > begin + 1))
    return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digits())
      return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    at += at < text.size() && (text[at] == '+' || text[at] == '-');
    if (!digits())
      return false;
  }
  return at == text.size();
}

void appendEscaped(std::string &json, char c) {
  static constexpr std::string_view kFrom = "\"\\\b\f\n\r\t", kTo = "\"\\bfnrt";
  if (size_t which = kFrom.find(c); which != std::string_view::npos) {
    json += '\\';
    json += kTo[which];
  } else if (static_cast<unsigned char>(c) < 0x20) {
    json += "\\u00";
    json += "01"[c >> 4];
    json += "0123456789abcdef"[c & 15];
  } else {
    json += c;
  }
}

void appendUtf8(std::string &text, uint32_t code) {
  if (code > 0x10ffff || isHigh(code) || isLow(code))
    code = 0xfffd;
  if (code < 0x80) {
    text += char(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  text += char((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | code >> 6 * more);
  for (int i = more; i-- > 0;)
    text += char(0x80 | (code >> 6 * i & 0x3f));
}

std::string mendedScalar(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kWords = {
      {{"true", "true"},
       {"True", "true"},
       {"TRUE", "true"},
       {"false", "false"},
       {"False", "false"},
       {"FALSE", "false"},
       {"null", "null"},
       {"None", "null"},
       {"NULL", "null"},
       {"undefined", "null"},
       // JSON has no such numbers, so they become null, as in JavaScript.
       {"NaN", "null"},
       {"Infinity", "null"},
       {"-Infinity", "null"},
       {"+Infinity", "null"}}};
  for (auto [written, json] : kWords)
    if (word == written)
      return std::string(json);
  if (isJsonNumber(word))
    return std::string(word);
  // Read the number formats of Python and JavaScript.
  if (word.starts_with('+'))
    word.remove_prefix(1);
  const bool minus = word.starts_with('-');
  std::string digits(word.substr(minus));
  if (digits.starts_with('_') || digits.ends_with('_') || digits.empty())
    return "";
  std::erase(digits, '_');
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    uint64_t value = 0;
    auto [end, error] =
        std::from_chars(digits.data() + 2, digits.data() + digits.size(), value, 16);
    if (error != std::errc() || end != digits.data() + digits.size())
      return "";
    digits = std::to_string(value);
  }
  while (digits.size() > 1 && digits[0] == '0' && isDigit(digits[1]))
    digits.erase(0, 1);
  if (digits.starts_with('.'))
    digits.insert(0, 1, '0');
  if (size_t dot = digits.find('.');
      dot != digits.npos && dot > 0 && (dot + 1 == digits.size() || !isDigit(digits[dot + 1])))
    digits.insert(dot + 1, 1, '0');
  return isJsonNumber(digits) && isDigit(digits[0]) ? (minus ? "-" : "") + digits : "";
}

std::string closedObject(std::string_view begun) {
  JsonMender mender;
  std::string json;
  begun = trimmed(begun);
  if (!begun.starts_with('{'))
    return "{}";
  for (char c : begun)
    if (mender.feed(c, json) != Reading::More)
      break;
  mender.finish(/*close=*/true, json);
  return json;
}

// ---------------------------------------------------------------- strings

/// Ends an invalid escape. Its backslash becomes text.
void JsonMender::brokenEscape(std::string &out) {
  if (!begun.empty())
    out += "\\\\" + begun.substr(1);
  begun.clear();
}

/// Takes the next character of an escape: \n, A, or a pair 😀.
void JsonMender::escape(char c, std::string &out) {
  const size_t size = begun.size();
  if (size == 1) {
    if (c == 'u') {
      begun += c;
    } else if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) {
      out += {'\\', c};
      begun.clear();
    } else if (c == '\'') { // as in JavaScript
      out += c;
      begun.clear();
    } else {
      brokenEscape(out);
      text(c, out);
    }
    return;
  }
  const bool second = size >= 6; // the second half of a surrogate pair is being read
  if (second && (size == 6 ? c != '\\' : size == 7 && c != 'u')) {
    out += kReplacementEscape;
    begun.erase(0, 6);
    return begun.empty() ? text(c, out) : escape(c, out);
  }
  if (size >= 8 ? !isHex(c) : size < 6 && !isHex(c)) {
    if (second)
      out += kReplacementEscape;
    begun.erase(0, second ? 6 : 0);
    brokenEscape(out);
    return text(c, out);
  }
  begun += c;
  if (begun.size() == 12) {
    if (isLow(hexOf(std::string_view(begun).substr(8)))) {
      out += begun;
      begun.clear();
      return;
    }
    out += kReplacementEscape;
    begun.erase(0, 6);
  }
  if (begun.size() != 6)
    return;
  const uint32_t code = hexOf(std::string_view(begun).substr(2));
  if (isHigh(code))
    return;
  out += isLow(code) ? kReplacementEscape : std::string_view(begun);
  begun.clear();
}

void JsonMender::text(char c, std::string &out) {
  if (!begun.empty())
    return escape(c, out);
  if (c == '\\') {
    begun = c;
  } else if (c == quote) {
    at = At::AfterText;
    gap.clear();
  } else {
    appendEscaped(out, c);
  }
}

/// Takes a character after a quote. The quote ends the string if the character may follow a string.
Reading JsonMender::afterText(char c, std::string &out) {
  if (isSpace(c)) {
    gap += c;
    return Reading::More;
  }
  auto end = [&](std::string_view more) {
    out += '"';
    out += more;
    at = isKey ? At::Value : At::After;
    held = isKey ? "" : gap;
  };
  const bool string = c == '"' || c == '\'';
  if (isKey && c == ':') {
    end(gap + ":");
    return Reading::More;
  }
  if (isKey && (c == ',' || c == '}')) { // the key has no value
    end(": null");
    at = At::After;
    return after(c, out);
  }
  if (isKey && ((string && !gap.empty()) || c == '{' || c == '[' || isDigit(c))) { // no colon came
    end(": ");
    return value(c, out);
  }
  if (!isKey && (c == ',' || c == '}' || c == ']' || (string && !gap.empty()))) {
    end("");
    return after(c, out);
  }
  // The quote is part of the text and was not escaped.
  appendEscaped(out, quote);
  for (char each : gap)
    appendEscaped(out, each);
  at = At::Text;
  text(c, out);
  return Reading::More;
}

// ---------------------------------------------------------------- structure

void JsonMender::release(std::string &out) {
  out += held;
  held.clear();
}

void JsonMender::endWord(std::string &out) {
  const std::string_view bare = trimmed(word);
  const std::string behind = word.substr(size_t(bare.data() - word.data()) + bare.size());
  if (std::string json = isKey ? "" : mendedScalar(bare); !json.empty())
    out += json;
  else
    appendString(out, bare);
  if (!isKey)
    held = behind;
  word.clear();
  at = At::After;
}

Reading JsonMender::close(char c, std::string &out) {
  const char opener = c == '}' ? '{' : '[';
  if (open.find(opener) == open.npos)
    return Reading::More; // the bracket closes nothing, so ignore it
  std::erase(held, ',');
  release(out);
  while (open.back() != opener) { // close the inner brackets
    out += inObject() ? '}' : ']';
    open.pop_back();
  }
  out += c;
  open.pop_back();
  at = open.empty() ? At::End : At::After;
  return open.empty() ? Reading::Done : Reading::More;
}

Reading JsonMender::value(char c, std::string &out) {
  if (isSpace(c)) {
    out += c;
    return Reading::More;
  }
  if (c == '{' || c == '[') {
    if (open.size() == kDeepest) {
      out += "null";
      at = At::Deep;
      return deep(c);
    }
    open += c;
    out += c;
    at = At::Next;
  } else if (c == '"' || c == '\'') {
    quote = c;
    out += '"';
    at = At::Text;
    isKey = false;
  } else if (c == ',' || c == '}' || c == ']') { // the value is missing
    out += "null";
    at = At::After;
    return after(c, out);
  } else if (c != ':') {
    word = c;
    at = At::Word;
    isKey = false;
  }
  return Reading::More;
}

/// Takes a character before a key, an item, or the closing bracket.
Reading JsonMender::next(char c, std::string &out) {
  if (isSpace(c)) {
    held += c;
    return Reading::More;
  }
  if (c == ',' || (c == ':' && !inObject()))
    return Reading::More; // the character is superfluous
  if (c == '}' || c == ']')
    return close(c, out);
  release(out);
  if (!inObject()) {
    at = At::Value;
    return value(c, out);
  }
  isKey = true;
  if (c == '"' || c == '\'') {
    quote = c;
    out += '"';
    at = At::Text;
  } else if (c == '{' || c == '[' || c == ':') { // the key is missing
    out += "\"\": ";
    at = At::Value;
    return c == ':' ? Reading::More : value(c, out);
  } else {
    word = c;
    at = At::Word;
  }
  return Reading::More;
}

/// Skips a value that is nested too deep.
Reading JsonMender::deep(char c) {
  if (skipEscape || (inSkipped && c == '\\'))
    skipEscape = !skipEscape;
  else if (c == '"')
    inSkipped = !inSkipped;
  else if (!inSkipped && (c == '{' || c == '['))
    ++below;
  else if (!inSkipped && (c == '}' || c == ']') && --below == 0)
    at = At::After;
  return Reading::More;
}

Reading JsonMender::after(char c, std::string &out) {
  if (isSpace(c)) {
    held += c;
    return Reading::More;
  }
  if (c == ',') {
    held += c;
    at = At::Next;
    return Reading::More;
  }
  if (c == '}' || c == ']')
    return close(c, out);
  if (c != '"' && c != '\'' && c != '{' && c != '[' && !isWordPart(c))
    return Reading::More; // the character means nothing, so ignore it
  held.insert(0, held.empty() ? ", " : ",");
  at = At::Next;
  return next(c, out);
}

Reading JsonMender::feed(char c, std::string &out) {
  switch (at) {
  case At::Start:
    return c == '{' || c == '[' ? value(c, out) : Reading::Bad;
  case At::End:
    return Reading::Bad;
  case At::Text:
    text(c, out);
    return Reading::More;
  case At::AfterText:
    return afterText(c, out);
  case At::Next:
    return next(c, out);
  case At::Value:
    return value(c, out);
  case At::After:
    return after(c, out);
  case At::Deep:
    return deep(c);
  case At::Word:
    break;
  }
  const bool ends =
      c == ',' || c == '}' || c == ']' || (isKey ? c == ':' : c == '"' || c == '{' || c == '[');
  if (!ends) {
    if (word.size() == kMostHeld)
      return Reading::Bad;
    word += c;
    return Reading::More;
  }
  const bool key = isKey;
  endWord(out);
  if (!key)
    return after(c, out);
  out += c == ':' ? ":" : ": null";
  if (c != ':')
    return after(c, out);
  at = At::Value;
  return Reading::More;
}

void JsonMender::finish(bool close, std::string &out) {
  if (at == At::End || at == At::Start)
    return;
  if (!close) {
    if (at == At::AfterText)
      out += '"' + gap;
    out += begun + word;
    return;
  }
  const bool string = at == At::Text || at == At::AfterText;
  const bool key = isKey && (string || at == At::Word);
  if (string)
    out += begun.size() >= 6 ? std::string(kReplacementEscape) + '"' : "\"";
  else if (at == At::Word)
    endWord(out);
  if (key)
    out += ": ";
  if (key || at == At::Value)
    out += "null";
  begun.clear();
  held.clear();
  for (; !open.empty(); open.pop_back())
    out += inObject() ? '}' : ']';
  at = At::End;
}

} // namespace ingot::text
