//===- CheckedJson.cpp - Whether a text is JSON -------------------------===//

#include "runtime/text/CheckedJson.h"
#include "runtime/text/ToolCallReader.h"

namespace ingot::text {

namespace {

bool isScalar(std::string_view text) {
  return text == "true" || text == "false" || text == "null" || isJsonNumber(text);
}

/// Checks a JSON object or array as it streams. feed() returns Done at its last bracket. The first
/// character must be its opening bracket. Control characters within strings are accepted.
class JsonObjectScanner {
public:
  Reading feed(char c);
  /// Returns whether the last character that was fed is within a string.
  bool inText() const { return at == At::Text; }

private:
  enum class At : uint8_t {
    Start,
    Value,
    FirstKey,
    FirstItem,
    Key,
    Colon,
    After,
    Text,
    Scalar,
    End
  };
  Reading value(char c);
  Reading close(char c);
  At at = At::Start;
  std::string open;   ///< unclosed '{' and '['
  std::string scalar; ///< characters of a number or a word
  bool isKey = false;
  int escape = 0; ///< 1: after a backslash; 2 to 5: number of missing digits of \u, plus one
};

Reading JsonObjectScanner::close(char c) {
  if (open.empty() || (open.back() == '{') != (c == '}'))
    return Reading::Bad;
  open.pop_back();
  at = open.empty() ? At::End : At::After;
  return open.empty() ? Reading::Done : Reading::More;
}

Reading JsonObjectScanner::value(char c) {
  if (c == '{' || c == '[') {
    if (open.size() == kDeepest)
      return Reading::Bad;
    open += c;
    at = c == '{' ? At::FirstKey : At::FirstItem;
  } else if (c == '"') {
    at = At::Text;
    isKey = false;
  } else if (isDigit(c) || c == '-' || c == 't' || c == 'f' || c == 'n') {
    at = At::Scalar;
    scalar = c;
  } else {
    return Reading::Bad;
  }
  return Reading::More;
}

Reading JsonObjectScanner::feed(char c) {
  switch (at) {
  case At::Start:
    return c == '{' || c == '[' ? value(c) : Reading::Bad;
  case At::End:
    return Reading::Bad;
  case At::Text:
    if (escape == 1) {
      escape = c == 'u' ? 5 : 0;
      return c == 'u' || std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos
                 ? Reading::More
                 : Reading::Bad;
    }
    if (escape > 1) {
      escape = escape == 2 ? 0 : escape - 1;
      return isHex(c) ? Reading::More : Reading::Bad;
    }
    if (c == '\\')
      escape = 1;
    else if (c == '"')
      at = isKey ? At::Colon : At::After;
    return Reading::More; // control characters are accepted, because the caller escapes them
  case At::Scalar:
    if (c != ',' && c != '}' && c != ']' && !isSpace(c)) {
      scalar += c;
      return scalar.size() <= kLongestName ? Reading::More : Reading::Bad;
    }
    if (!isScalar(scalar))
      return Reading::Bad;
    at = At::After;
    break;
  default:
    break;
  }
  if (isSpace(c))
    return Reading::More;
  switch (at) {
  case At::FirstKey:
    if (c == '}')
      return close(c);
    [[fallthrough]];
  case At::Key:
    if (c != '"')
      return Reading::Bad;
    at = At::Text;
    isKey = true;
    return Reading::More;
  case At::Colon:
    at = At::Value;
    return c == ':' ? Reading::More : Reading::Bad;
  case At::FirstItem:
    if (c == ']')
      return close(c);
    return value(c);
  case At::Value:
    return value(c);
  default: // after a value
    if (c == ',') {
      at = open.back() == '{' ? At::Key : At::Value;
      return Reading::More;
    }
    return c == '}' || c == ']' ? close(c) : Reading::Bad;
  }
}

/// Checks JSON and escapes control characters in its strings.
class WholeJson {
public:
  /// Appends the output to `out`.
  Reading feed(char c, std::string &out) {
    const bool inside = scanner.inText();
    Reading reading = scanner.feed(c);
    if (reading == Reading::Bad)
      return reading;
    if (inside && static_cast<unsigned char>(c) < 0x20)
      appendEscaped(out, c);
    else
      out += c;
    return reading;
  }
  bool inText() const { return scanner.inText(); }

private:
  JsonObjectScanner scanner;
};

} // namespace

std::string checkedJson(std::string_view text, uint8_t &type) {
  type = text == "null"                      ? kNull
         : text == "true" || text == "false" ? kBoolean
         : isJsonNumber(text)                ? kNumber
         : text.starts_with('{')             ? kObject
         : text.starts_with('[')             ? kArray
         : text.starts_with('"')             ? kText
                                             : 0;
  if (!(type & (kObject | kArray | kText)))
    return type ? std::string(text) : "";
  // A string is read as the only item of an array.
  WholeJson check;
  std::string json;
  Reading reading = type == kText ? check.feed('[', json) : Reading::More;
  json.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (reading != Reading::More || (type == kText && i && text[i] == ',' && !check.inText()))
      return "";
    reading = check.feed(text[i], json);
  }
  if (type == kText ? reading == Reading::More && !check.inText() && text.size() > 1
                    : reading == Reading::Done)
    return json;
  return "";
}

} // namespace ingot::text
