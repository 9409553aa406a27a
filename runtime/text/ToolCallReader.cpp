//===- ToolCallReader.cpp - Calls as JSON, and JSON itself ----------------===//

#include "runtime/text/ToolCallReader.h"
#include "runtime/text/Json.h"

#include <algorithm>
#include <array>
#include <vector>

namespace ingot::text {

namespace {

/// Arguments that come before the name wait for it.
constexpr size_t kMostHeld = 16 << 10;

/// -?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?
bool isNumber(std::string_view text) {
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

bool isScalar(std::string_view text) {
  return text == "true" || text == "false" || text == "null" || isNumber(text);
}

/// The text of a JSON string without its quotes; false: a bad escape.
bool unescape(std::string_view text, std::string &out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size())
      return false;
    static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    size_t which = kFrom.find(text[i]);
    if (which == std::string_view::npos)
      return false; // names and double-encoded arguments need no \u
    out += kTo[which];
  }
  return true;
}

} // namespace

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
    return c == '{' ? value(c) : Reading::Bad;
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
    else if (static_cast<unsigned char>(c) < 0x20)
      return Reading::Bad;
    return Reading::More;
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

namespace {

/// {"name": …, "arguments": {…}}, in any order; "parameters", "function" and the wrapper
/// {"type": "function", "function": {…}} as some models write them.
class JsonCall : public ToolCallReader {
public:
  JsonCall(CallSink &sink, bool strict) : sink(sink), strict(strict) {}

  Reading feed(char c) override {
    switch (at) {
    case At::Text:
      return text(c);
    case At::Arguments: {
      Reading reading = scanner.feed(c);
      if (reading == Reading::Bad)
        return reading;
      give(std::string_view(&c, 1));
      if (reading == Reading::Done)
        at = At::After;
      return held.size() > kMostHeld ? Reading::Bad : Reading::More;
    }
    case At::Word:
      if (c >= 'a' && c <= 'z') {
        word += c;
        return word.size() <= 5 ? Reading::More : Reading::Bad;
      }
      if (!isScalar(word))
        return Reading::Bad;
      if (isArgumentsKey())
        if (word != "null" || !noArguments())
          return Reading::Bad;
      at = At::After;
      break;
    default:
      break;
    }
    if (isSpace(c))
      return Reading::More;
    switch (at) {
    case At::Start:
      at = At::FirstKey;
      return c == '{' ? Reading::More : Reading::Bad;
    case At::FirstKey:
    case At::Key:
      if (c != '"')
        return Reading::Bad;
      at = At::Text;
      isKey = true;
      word.clear();
      return Reading::More;
    case At::Colon:
      at = At::Value;
      return c == ':' ? Reading::More : Reading::Bad;
    case At::Value:
      return value(c);
    default:
      return after(c);
    }
  }

private:
  enum class At : uint8_t { Start, FirstKey, Key, Text, Colon, Value, Word, Arguments, After };

  bool isArgumentsKey() const { return key == "arguments" || key == "parameters"; }

  Reading value(char c) {
    if (c == '"') {
      at = At::Text;
      isKey = false;
      word.clear();
      return Reading::More;
    }
    if (c == '{' && isArgumentsKey() && !hasArguments) {
      hasArguments = true;
      at = At::Arguments;
      if (!name.empty() && !begin())
        return Reading::Bad;
      scanner.feed(c);
      give("{");
      return Reading::More;
    }
    if (c == '{' && key == "function" && depth == 0) {
      ++depth;
      at = At::FirstKey;
      return Reading::More;
    }
    if (c >= 'a' && c <= 'z') {
      at = At::Word;
      word = c;
      return Reading::More;
    }
    return Reading::Bad;
  }

  Reading text(char c) {
    if (escaped) {
      escaped = false;
    } else if (c == '\\') {
      escaped = true;
    } else if (c == '"') {
      if (isKey) {
        static constexpr std::array<std::string_view, 6> kKeys = {"name", "arguments", "parameters",
                                                                  "type", "id",        "function"};
        key = word;
        at = At::Colon;
        return std::ranges::find(kKeys, key) != kKeys.end() ? Reading::More : Reading::Bad;
      }
      at = At::After;
      std::string plain;
      if (key == "name" || key == "function") {
        if (!unescape(word, plain) || plain.empty() || !name.empty() || !sink.known(plain))
          return Reading::Bad;
        name = plain;
        return hasArguments && !begin() ? Reading::Bad : Reading::More;
      }
      if (isArgumentsKey()) { // an object inside of a string
        if (hasArguments || !unescape(word, plain))
          return Reading::Bad;
        JsonObjectScanner check;
        Reading reading = Reading::More;
        for (char each : plain)
          if ((reading = check.feed(each)) == Reading::Bad)
            return reading;
        if (reading != Reading::Done || (!name.empty() && !begin()))
          return Reading::Bad;
        hasArguments = true;
        give(plain);
      }
      return Reading::More;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      return Reading::Bad;
    }
    word += c;
    return word.size() <= (isArgumentsKey() && !isKey ? kMostHeld : kLongestName) ? Reading::More
                                                                                  : Reading::Bad;
  }

  Reading after(char c) {
    if (c == ',') {
      at = At::Key;
      return Reading::More;
    }
    if (c != '}')
      return Reading::Bad;
    if (depth > 0) {
      --depth;
      return Reading::More;
    }
    if (name.empty() || (!hasArguments && (strict || !noArguments())))
      return Reading::Bad;
    return Reading::Done;
  }

  bool noArguments() {
    hasArguments = true;
    if (!name.empty())
      begin();
    give("{}");
    return true;
  }

  bool begin() {
    if (!begun) {
      begun = true;
      sink.name(name);
      if (!held.empty())
        sink.arguments(held);
      held.clear();
    }
    return begun;
  }

  void give(std::string_view text) {
    if (begun)
      sink.arguments(text);
    else
      held += text;
  }

  CallSink &sink;
  bool strict;
  At at = At::Start;
  bool isKey = false, escaped = false, hasArguments = false, begun = false;
  int depth = 0;
  std::string key, word, name, held;
  JsonObjectScanner scanner;
};

/// NAME[ARGS]{…}, NAME[CALL_ID]…[ARGS]{…} or NAME{…}.
class NamedCall : public ToolCallReader {
public:
  explicit NamedCall(CallSink &sink) : sink(sink) {}

  Reading feed(char c) override {
    if (!inArguments) {
      if (c != '{') {
        head += c;
        return head.size() <= kLongestName ? Reading::More : Reading::Bad;
      }
      std::string_view name = head;
      if (size_t mark = name.find('['); mark != std::string_view::npos) {
        std::string_view marks = name.substr(mark);
        while (!marks.empty() && isSpace(marks.back()))
          marks.remove_suffix(1);
        if (!marks.ends_with("[ARGS]") ||
            !(marks.starts_with("[ARGS]") || marks.starts_with("[CALL_ID]")))
          return Reading::Bad;
        name = name.substr(0, mark);
      }
      while (!name.empty() && isSpace(name.back()))
        name.remove_suffix(1);
      if (!sink.known(name))
        return Reading::Bad;
      sink.name(name);
      inArguments = true;
    }
    Reading reading = scanner.feed(c);
    if (reading != Reading::Bad)
      sink.arguments(std::string_view(&c, 1));
    return reading;
  }

private:
  CallSink &sink;
  std::string head;
  bool inArguments = false;
  JsonObjectScanner scanner;
};

} // namespace

std::unique_ptr<ToolCallReader> readJsonCall(CallSink &sink, bool strict) {
  return std::make_unique<JsonCall>(sink, strict);
}
std::unique_ptr<ToolCallReader> readNamedCall(CallSink &sink) {
  return std::make_unique<NamedCall>(sink);
}

} // namespace ingot::text
