//===- ObjectCallReader.cpp - Calls as one JSON object ------------------===//

#include "runtime/text/ToolCallReader.h"

#include <algorithm>
#include <charconv>

namespace ingot::text {

namespace {

/// Decodes the text of a JSON string without its quotes. Returns false for an invalid escape.
bool unescape(std::string_view text, std::string &out) {
  auto unit = [&](size_t at) -> int64_t {
    if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u')
      return -1;
    uint32_t code = 0;
    const char *end = text.data() + at + 6;
    return std::from_chars(text.data() + at + 2, end, code, 16).ptr == end ? int64_t(code) : -1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (int64_t code = unit(i); code >= 0) {
      const int64_t low = code >> 10 == 0x36 ? unit(i + 6) : -1;
      const bool pair = low >> 10 == 0x37;
      appendUtf8(out, uint32_t(pair ? 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff) : code));
      i += pair ? 11 : 5;
      continue;
    }
    if (++i == text.size())
      return false;
    static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    size_t which = kFrom.find(text[i]);
    if (which == std::string_view::npos)
      return false;
    out += kTo[which];
  }
  return true;
}

/// Reads {"name": …, "arguments": {…}}, in any order. Some models write "parameters", "function" or
/// the wrapper {"type": "function", "function": {…}}, and Apertus writes {"f": {…}}. Other keys are
/// skipped with their values, and so are a repeated name and repeated arguments.
class ObjectCall : public ToolCallReader {
public:
  ObjectCall(CallSink &sink, bool strict) : sink(sink), strict(strict) {}

  Reading feed(char c) override {
    Reading reading = at == At::Broken ? broken(c) : member(c);
    if (reading != Reading::Bad || !begun)
      return reading;
    finish(/*close=*/true); // the name was returned, so the rest of the object is skipped
    at = At::Broken;
    return broken(c);
  }

  void finish(bool close) override {
    std::string out;
    if (at == At::Arguments) {
      arguments.finish(close, out);
    } else if (at == At::Text && !isKey && isArgumentsKey() && !hasArguments && !name.empty()) {
      (void)textArguments(close, out); // the arguments are an object inside a string
    }
    give(out);
  }
  bool mayEnd() const override {
    return at == At::Arguments ? !arguments.inText()
           : at == At::Broken  ? !quoted
                               : at != At::Text && (at != At::Skipped || !skipped.inText());
  }

private:
  Reading member(char c) {
    switch (at) {
    case At::Text:
      return text(c);
    case At::Arguments: {
      std::string out;
      Reading reading = arguments.feed(c, out);
      if (reading == Reading::Bad)
        return reading;
      give(out);
      if (reading == Reading::Done)
        at = At::After;
      return held.size() > kMostHeld ? Reading::Bad : Reading::More;
    }
    case At::Skipped: {
      std::string none;
      Reading reading = skipped.feed(c, none);
      if (reading == Reading::Done)
        at = At::After;
      return reading == Reading::Done ? Reading::More : reading;
    }
    case At::Word:
      if (c != ',' && c != '}' && !isSpace(c)) {
        word += c;
        return word.size() <= kLongestName ? Reading::More : Reading::Bad;
      }
      if (mendedScalar(word).empty())
        return Reading::Bad;
      if (isArgumentsKey() && !hasArguments && (mendedScalar(word) != "null" || !noArguments()))
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
      at = At::Key;
      return c == '{' ? Reading::More : Reading::Bad;
    case At::Key:
      if (c == '}' && begun)
        return after(c); // the object ends after a superfluous comma
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

  /// Skips to the bracket that closes the object.
  Reading broken(char c) {
    if (escaped || c == '\\')
      escaped = !escaped;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '{' || c == '['))
      ++depth;
    else if (!quoted && c == '}' && depth == 0)
      return Reading::Done;
    else if (!quoted && (c == '}' || c == ']'))
      depth -= depth > 0;
    return Reading::More;
  }

  enum class At : uint8_t {
    Start,
    Key,
    Text,
    Colon,
    Value,
    Word,
    Arguments,
    Skipped,
    After,
    Broken
  };

  bool isArgumentsKey() const { return key == "arguments" || key == "parameters"; }
  bool isNameKey() const { return key == "name" || key == "tool_name" || key == "function"; }

  Reading value(char c) {
    if (c == '"') {
      at = At::Text;
      isKey = false;
      word.clear();
      return Reading::More;
    }
    if (c != '{' && c != '[') {
      at = At::Word;
      word = c;
      return Reading::More;
    }
    const bool keyIsName = c == '{' && name.empty() && !isNameKey() && !isArgumentsKey() &&
                           depth == 0 && sink.tools->has(key);
    if (c == '{' && (isArgumentsKey() || keyIsName) && !hasArguments) {
      hasArguments = true;
      if (keyIsName)
        name = key;
      at = At::Arguments;
      std::string out;
      arguments.feed(c, out);
      if (!name.empty())
        begin();
      give(out);
      return Reading::More;
    }
    if ((isArgumentsKey() && !hasArguments) || (isNameKey() && name.empty())) {
      if (c != '{' || key != "function" || depth != 0)
        return Reading::Bad;
      ++depth;
      at = At::Key;
      return Reading::More;
    }
    at = At::Skipped;
    skipped = {};
    std::string none;
    return skipped.feed(c, none);
  }

  Reading text(char c) {
    if (escaped) {
      escaped = false;
    } else if (c == '\\') {
      escaped = true;
    } else if (c == '"') {
      return endText();
    }
    if (static_cast<unsigned char>(c) < 0x20)
      appendEscaped(word, c);
    else
      word += c;
    return word.size() <= (isKey ? kLongestName : kMostHeld) ? Reading::More : Reading::Bad;
  }

  Reading endText() {
    if (isKey) {
      key = word;
      at = At::Colon;
      return Reading::More;
    }
    at = At::After;
    std::string plain;
    if (isNameKey() && name.empty()) {
      if (!unescape(word, plain) || !sink.tools->has(plain))
        return Reading::Bad;
      name = plain;
      if (hasArguments)
        begin();
    } else if (isArgumentsKey() && !hasArguments) {
      std::string out;
      if (!textArguments(/*close=*/true, out))
        return Reading::Bad;
      give(out);
    }
    return Reading::More;
  }

  /// Reads arguments that are an object inside a string. An empty string is an empty object.
  bool textArguments(bool close, std::string &out) {
    std::string plain;
    if (close && word.ends_with('\\') && escaped)
      word.pop_back();
    if (!unescape(word, plain) && close)
      return false;
    const size_t first = plain.find_first_not_of(" \n\r\t");
    if (first == plain.npos ? !close : plain[first] != '{')
      return false;
    if (first == plain.npos)
      out = "{}";
    JsonMender mender;
    size_t at = std::min(first, plain.size());
    for (; at < plain.size(); ++at)
      if (Reading reading = mender.feed(plain[at], out); reading == Reading::Bad)
        return false;
      else if (reading == Reading::Done)
        break;
    mender.finish(close, out);
    hasArguments = true;
    if (!name.empty())
      begin();
    return true;
  }

  Reading after(char c) {
    if (c == ',') {
      at = At::Key;
      return Reading::More;
    }
    if (c == '"' && begun) { // the comma before the key is missing
      at = At::Key;
      return feed(c);
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

  void begin() {
    if (begun)
      return;
    begun = true;
    sink.name(name);
    if (!held.empty())
      sink.arguments(held);
    held.clear();
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
  bool isKey = false, escaped = false, quoted = false, hasArguments = false, begun = false;
  int depth = 0;
  std::string key, word, name, held;
  JsonMender arguments, skipped;
};

} // namespace

std::unique_ptr<ToolCallReader> readObjectCall(CallSink &sink, bool strict) {
  return std::make_unique<ObjectCall>(sink, strict);
}

} // namespace ingot::text
