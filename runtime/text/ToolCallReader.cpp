//===- ToolCallReader.cpp - Calls as JSON, and JSON itself -----------------===//

#include "runtime/text/ToolCallReader.h"

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
    return Reading::More; // control characters, too: whoever passes them on escapes them
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

namespace {

/// Arguments as they stream: a JSON object, with control characters in its strings escaped.
class JsonArguments {
public:
  /// Appends to `out` what is to be passed on.
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
         : isNumber(text)                    ? kNumber
         : text.starts_with('{')             ? kObject
         : text.starts_with('[')             ? kArray
         : text.starts_with('"')             ? kText
                                             : 0;
  if (!(type & (kObject | kArray | kText)))
    return type ? std::string(text) : "";
  // A string is read as the only item of an array.
  JsonArguments check;
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

/// {"name": …, "arguments": {…}}, in any order; "parameters", "function" and the wrapper
/// {"type": "function", "function": {…}} as some models write them, and {"f": {…}} (Apertus). Other
/// keys are passed over with their values.
class ObjectCall : public ToolCallReader {
public:
  ObjectCall(CallSink &sink, bool strict) : sink(sink), strict(strict) {}

  Reading feed(char c) override {
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
      Reading reading = skipped.feed(c);
      if (reading == Reading::Done)
        at = At::After;
      return reading == Reading::Done ? Reading::More : reading;
    }
    case At::Word:
      if (c != ',' && c != '}' && !isSpace(c)) {
        word += c;
        return word.size() <= kLongestName ? Reading::More : Reading::Bad;
      }
      if (!isScalar(word))
        return Reading::Bad;
      if (isArgumentsKey() && (word != "null" || !noArguments()))
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
  enum class At : uint8_t { Start, Key, Text, Colon, Value, Word, Arguments, Skipped, After };

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
    if (isArgumentsKey() || isNameKey()) {
      if (c != '{' || key != "function" || depth != 0)
        return Reading::Bad;
      ++depth;
      at = At::Key;
      return Reading::More;
    }
    at = At::Skipped;
    skipped.reset();
    return skipped.feed(c);
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
    if (isNameKey()) {
      if (!unescape(word, plain) || !name.empty() || !sink.tools->has(plain))
        return Reading::Bad;
      name = plain;
      if (hasArguments)
        begin();
    } else if (isArgumentsKey()) { // an object inside of a string
      if (hasArguments || !unescape(word, plain))
        return Reading::Bad;
      JsonArguments check;
      std::string out;
      Reading reading = Reading::More;
      for (char each : plain)
        if ((reading = check.feed(each, out)) == Reading::Bad)
          return reading;
      if (reading != Reading::Done)
        return Reading::Bad;
      hasArguments = true;
      if (!name.empty())
        begin();
      give(out);
    }
    return Reading::More;
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
  bool isKey = false, escaped = false, hasArguments = false, begun = false;
  int depth = 0;
  std::string key, word, name, held;
  JsonArguments arguments;
  JsonObjectScanner skipped;
};

/// The arguments of a call, behind a name that is known.
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

private:
  CallSink &sink;
  std::string name;
  bool begun = false;
  JsonArguments arguments;
};

/// NAME MARK {…}. Of what stands before the brace, the name is what is left without marks, ids and
/// prefixes; Mistral's models also write NAME[CALL_ID]…[ARGS]{…} and NAME{…}.
class JsonCall : public ToolCallReader {
public:
  JsonCall(const ToolMarks &marks, CallSink &sink) : marks(marks), sink(sink) {}

  Reading feed(char c) override {
    if (reader)
      return reader->feed(c);
    if (c != '{') {
      head += c;
      return head.size() <= kLongestName ? Reading::More : Reading::Bad;
    }
    std::string name = called();
    if (name.empty())
      return Reading::Bad;
    reader = readJsonArguments(sink, name);
    return reader->feed(c);
  }

private:
  std::string called() const {
    std::string_view rest = head;
    // The part of the opening mark behind its number: ID<|tool_call:name|>NAME.
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
    // functions.NAME:0, with and without its ends; "function" is what DeepSeek calls a tool's type.
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
