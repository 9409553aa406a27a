//===- ToolCallReader.cpp - Calls as JSON, and JSON itself -----------------===//

#include "runtime/text/ToolCallReader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace ingot::text {

namespace {

bool isScalar(std::string_view text) {
  return text == "true" || text == "false" || text == "null" || isJsonNumber(text);
}

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
    return Reading::More; // control characters are accepted: the caller escapes them
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

/// Complete JSON, with control characters in its strings escaped.
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

namespace {

/// {"name": …, "arguments": {…}}, in any order; also "parameters", "function" and the wrapper
/// {"type": "function", "function": {…}} as some models write them, and {"f": {…}} (Apertus). Other
/// keys are skipped with their values, and so is a repeated name or repeated arguments.
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
      (void)textArguments(close, out); // an object inside a string
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
        return after(c); // after a superfluous comma
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

  /// Arguments as an object inside a string; an empty string is an empty object.
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
    if (c == '"' && begun) { // a comma is missing
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

/// The arguments of a call whose name is known.
class Arguments : public ToolCallReader {
public:
  Arguments(CallSink &sink, std::string_view name) : sink(sink), name(name) {}

  Reading feed(char c) override {
    if (!begun) {
      if (isSpace(c))
        return Reading::More;
      if (c != '{')
        return Reading::Bad;
      begun = true;
      sink.name(name);
    }
    std::string out;
    Reading reading = arguments.feed(c, out);
    if (!out.empty())
      sink.arguments(out);
    return reading;
  }

  void finish(bool close) override {
    std::string out;
    if (!begun) {
      sink.name(name);
      out = close ? "{}" : "";
    }
    arguments.finish(close, out);
    sink.arguments(out);
  }
  bool mayEnd() const override { return !arguments.inText(); }

private:
  CallSink &sink;
  std::string name;
  bool begun = false;
  JsonMender arguments;
};

/// NAME MARK {…}. The name is the text before the brace without marks, ids and prefixes; Mistral's
/// models also write NAME[CALL_ID]…[ARGS]{…} and NAME{…}.
class JsonCall : public ToolCallReader {
public:
  JsonCall(const ToolMarks &marks, CallSink &sink) : marks(marks), sink(sink) {}

  Reading feed(char c) override {
    if (reader)
      return reader->feed(c);
    if (c != '{') {
      head += c;
      if (const std::string_view end = markToFind(marks.close);
          !end.empty() && head.ends_with(end)) {
        head.erase(head.size() - end.size());
        if (!begin(/*whole=*/true))
          return Reading::Bad; // treat it as text: the mark was consumed
        reader->finish(/*close=*/true);
        behind = end;
        return Reading::Done;
      }
      return head.size() <= kLongestName ? Reading::More : Reading::Bad;
    }
    return begin(/*whole=*/false) ? reader->feed(c) : Reading::Bad;
  }

  void finish(bool close) override {
    if (reader || (close && begin(/*whole=*/true)))
      reader->finish(close);
  }
  bool mayEnd() const override { return reader && reader->mayEnd(); }

private:
  /// The arguments follow, or there are none. `whole`: the mark after the name must be present.
  bool begin(bool whole) {
    const std::string_view end = markToFind(marks.nameEnd.substr(marks.nameEnd.find('#') + 1));
    if (whole && (end.empty() || head.find(end) == head.npos))
      return false;
    const std::string name = called();
    if (!name.empty())
      reader = readJsonArguments(sink, name);
    return !name.empty();
  }

  std::string called() const {
    std::string_view rest = head;
    // The part of the opening mark after its number: ID<|tool_call:name|>NAME.
    if (size_t number = marks.open.find('#'); number != std::string_view::npos)
      if (size_t at = rest.find(marks.open.substr(number + 1)); at != std::string_view::npos)
        rest.remove_prefix(at + marks.open.size() - number - 1);
    std::string_view end = marks.nameEnd;
    if (size_t number = end.find('#'); number != std::string_view::npos)
      end.remove_prefix(number + 1);
    end = markToFind(end);
    if (!end.empty()) {
      size_t at = rest.rfind(end);
      if (at != std::string_view::npos)
        rest = rest.substr(0, at);
      else if (rest.find('[') != std::string_view::npos || rest.find('<') != std::string_view::npos)
        return "";
    }
    if (size_t id = rest.find("[CALL_ID]"); id != std::string_view::npos)
      rest = rest.substr(0, id);
    while (!rest.empty() && isSpace(rest.front()))
      rest.remove_prefix(1);
    while (!rest.empty() && isSpace(rest.back()))
      rest.remove_suffix(1);
    // functions.NAME:0, with or without prefix and index; "function" is DeepSeek's name for a
    // tool's type.
    for (std::string_view prefix : {"", "functions.", "function<｜tool▁sep｜>"})
      for (bool index : {false, true}) {
        std::string_view name = rest;
        if (!name.starts_with(prefix))
          continue;
        name.remove_prefix(prefix.size());
        if (size_t colon = name.rfind(':'); index && colon != std::string_view::npos)
          name = name.substr(0, colon);
        if (sink.tools->has(name))
          return std::string(name);
      }
    return "";
  }

  const ToolMarks &marks;
  CallSink &sink;
  std::string head;
  std::unique_ptr<ToolCallReader> reader;
};

} // namespace

std::unique_ptr<ToolCallReader> readObjectCall(CallSink &sink, bool strict) {
  return std::make_unique<ObjectCall>(sink, strict);
}
std::unique_ptr<ToolCallReader> readJsonCall(const ToolMarks &marks, CallSink &sink) {
  return std::make_unique<JsonCall>(marks, sink);
}
std::unique_ptr<ToolCallReader> readJsonArguments(CallSink &sink, std::string_view name) {
  return std::make_unique<Arguments>(sink, name);
}

std::unique_ptr<ToolCallReader> readCall(const ToolMarks &marks, CallSink &sink, bool strict) {
  switch (marks.syntax) {
  case CallSyntax::Object:
    return readObjectCall(sink, strict);
  case CallSyntax::Json:
    return readJsonCall(marks, sink);
  case CallSyntax::Parameters:
  case CallSyntax::Elements:
    return readParameterCall(marks, sink);
  case CallSyntax::Python:
    return readPythonCall(sink);
  case CallSyntax::Gemma:
    return readGemmaCall(marks, sink);
  }
  return nullptr;
}

} // namespace ingot::text
