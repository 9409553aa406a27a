//===- PythonCallReader.cpp - Calls as Python and Gemma write them ---------//
//
//   f(a=1, b=["x", 'y'], c={"d": None})       ->  {"a": 1, "b": ["x", "y"], "c": {"d": null}}
//   f{a:1,b:[<escape>x<escape>],c:{d:null}}   ->  the same in FunctionGemma's marks
//
// Both are names with values that are literals, so one machine reads both and writes JSON as it
// goes. A comma is written only when something follows it: Python allows one before a bracket.
//===----------------------------------------------------------------------===//

#include "runtime/text/Json.h"
#include "runtime/text/ToolCallReader.h"

#include <algorithm>
#include <array>

namespace ingot::text {

namespace {

bool isWord(char c) {
  return isDigit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class LiteralCall : public ToolCallReader {
public:
  /// `gemmaQuote`: around texts in Gemma's formats; empty: Python.
  LiteralCall(CallSink &sink, std::string_view gemmaQuote)
      : sink(sink), escape(gemmaQuote), gemma(!gemmaQuote.empty()) {}

  Reading feed(char c) override {
    switch (at) {
    case At::Name:
      return name(c);
    case At::Key:
      return key(c);
    case At::Value:
      return value(c);
    case At::Scalar:
      return scalar(c);
    case At::Text:
      return gemma ? escapedText(c) : quotedText(c);
    case At::After:
      return after(c);
    }
    return Reading::Bad;
  }

private:
  enum class At : uint8_t { Name, Key, Value, Scalar, Text, After };

  char top() const { return open.empty() ? (gemma ? '}' : ')') : open.back(); }
  /// The innermost bracket holds names with values.
  bool named() const { return open.empty() || open.back() == '}'; }
  bool quotedKeys() const { return !gemma && !open.empty(); }

  Reading name(char c) {
    if (c != (gemma ? '{' : '(')) {
      word += c;
      bool fits = isWord(c) || c == '.' || c == '-';
      return fits && word.size() <= kLongestName ? Reading::More : Reading::Bad;
    }
    if (!sink.tools->has(word))
      return Reading::Bad;
    callee = word;
    word.clear();
    at = At::Key;
    return Reading::More;
  }

  void begin() {
    if (begun)
      return;
    begun = true;
    sink.name(callee);
    sink.arguments("{");
  }

  void comma() {
    if (needsComma)
      sink.arguments(", ");
    needsComma = false;
  }

  /// A name, or the bracket that ends its list.
  Reading key(char c) {
    if (word.empty() && isSpace(c))
      return Reading::More;
    if (word.empty() && c == top())
      return close(c);
    if (quotedKeys()) {
      if (quote == 0) {
        if (c != '"' && c != '\'')
          return Reading::Bad;
        quote = c;
        word = c;
        return Reading::More;
      }
      if (word.size() > 1 && word.back() == quote) { // the name is whole
        if (isSpace(c))
          return Reading::More;
        if (c != ':')
          return Reading::Bad;
        word = word.substr(1, word.size() - 2);
        quote = 0;
        return named(word);
      }
      if (c == '\\' || static_cast<unsigned char>(c) < 0x20)
        return Reading::Bad;
      word += c;
      return word.size() <= kLongestName ? Reading::More : Reading::Bad;
    }
    if (c == (gemma ? ':' : '=')) {
      while (!word.empty() && isSpace(word.back()))
        word.pop_back();
      bool whole = !word.empty() && (gemma || std::ranges::all_of(word, isWord));
      return whole ? named(word) : Reading::Bad;
    }
    if (!isWord(c) && !isSpace(c) && !(gemma && (c == '-' || c == '.' || c == '$')))
      return Reading::Bad;
    word += c;
    return word.size() <= kLongestName ? Reading::More : Reading::Bad;
  }

  Reading named(const std::string &argument) {
    begin();
    comma();
    sink.arguments(jsonString(argument) + ": ");
    word.clear();
    at = At::Value;
    return Reading::More;
  }

  Reading value(char c) {
    if (isSpace(c))
      return Reading::More;
    if (c == ']' || (c == ')' && !open.empty() && open.back() == ')'))
      return close(c);
    comma();
    if (c == '[' || (c == '(' && !gemma) || c == '{') {
      if (open.size() == kDeepest)
        return Reading::Bad;
      open += c == '[' ? ']' : c == '(' ? ')' : '}';
      sink.arguments(c == '{' ? "{" : "[");
      at = c == '{' ? At::Key : At::Value;
      return Reading::More;
    }
    if (!gemma && (c == '"' || c == '\'')) {
      quote = c;
      sink.arguments("\"");
      at = At::Text;
      return Reading::More;
    }
    word = c;
    at = At::Scalar;
    return isWord(c) || c == '-' || (gemma && c == escape.front()) ? Reading::More : Reading::Bad;
  }

  Reading scalar(char c) {
    if (gemma && word.front() == escape.front()) {
      word += c;
      if (!escape.starts_with(word))
        return Reading::Bad;
      if (word == escape) {
        word.clear();
        sink.arguments("\"");
        at = At::Text;
      }
      return Reading::More;
    }
    if (c != ',' && c != ']' && c != '}' && c != ')' && !isSpace(c)) {
      word += c;
      return word.size() <= 64 ? Reading::More : Reading::Bad;
    }
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWords = {
        {{"True", "true"},
         {"False", "false"},
         {"None", "null"},
         {"true", "true"},
         {"false", "false"},
         {"null", "null"}}};
    auto known = std::ranges::find(kWords, std::string_view(word), [](auto &w) { return w.first; });
    if (known != kWords.end()) {
      sink.arguments(known->second);
    } else { // a number: JSON's rules, found by what reads JSON
      JsonObjectScanner check;
      Reading reading = Reading::More;
      for (char each : "{\"n\":" + word + "}")
        if (reading = check.feed(each); reading == Reading::Bad)
          return reading;
      sink.arguments(word);
    }
    word.clear();
    at = At::After;
    return after(c);
  }

  void plain(char c) {
    std::string text;
    appendEscaped(text, c);
    sink.arguments(text);
  }

  void endText() {
    sink.arguments("\"");
    word.clear();
    quote = 0;
    at = At::After;
  }

  /// Python's, with its escapes.
  Reading quotedText(char c) {
    if (!word.empty()) { // an escape that is not whole: x12 or u1234
      if (!isHex(c))
        return Reading::Bad;
      word += c;
      if (word.size() == (word[0] == 'x' ? 3u : 5u)) {
        sink.arguments((word[0] == 'x' ? "\\u00" : "\\u") + word.substr(1));
        word.clear();
      }
      return Reading::More;
    }
    if (escaped) {
      escaped = false;
      static constexpr std::string_view kSame = "bfnrt\"\\", kLetters = "'/";
      if (c == 'x' || c == 'u')
        word = c;
      else if (kSame.find(c) != std::string_view::npos)
        sink.arguments(std::string{'\\', c});
      else if (kLetters.find(c) != std::string_view::npos)
        plain(c);
      else if (c != '\n') { // Python keeps what it does not know
        plain('\\');
        plain(c);
      }
      return Reading::More;
    }
    if (c == '\\')
      escaped = true;
    else if (c == quote)
      endText();
    else
      plain(c);
    return Reading::More;
  }

  /// Until the next <escape>; what may be its beginning waits in `word`.
  Reading escapedText(char c) {
    word += c;
    while (!word.empty() && !escape.starts_with(word)) {
      plain(word.front());
      word.erase(0, 1);
    }
    if (word == escape)
      endText();
    return Reading::More;
  }

  Reading after(char c) {
    if (isSpace(c))
      return Reading::More;
    if (c == ',') {
      needsComma = true;
      at = named() ? At::Key : At::Value;
      return Reading::More;
    }
    return c == top() ? close(c) : Reading::Bad;
  }

  Reading close(char c) {
    if (c != top())
      return Reading::Bad;
    begin();
    needsComma = false;
    sink.arguments(named() ? "}" : "]");
    if (open.empty())
      return Reading::Done;
    open.pop_back();
    at = At::After;
    return Reading::More;
  }

  CallSink &sink;
  std::string_view escape;
  bool gemma;
  At at = At::Name;
  bool begun = false, needsComma = false, escaped = false;
  char quote = 0;
  std::string open; ///< the brackets that close what is open, the call's own not among them
  std::string word, callee;
};

} // namespace

std::unique_ptr<ToolCallReader> readPythonCall(CallSink &sink) {
  return std::make_unique<LiteralCall>(sink, "");
}
std::unique_ptr<ToolCallReader> readGemmaCall(const ToolMarks &marks, CallSink &sink) {
  return std::make_unique<LiteralCall>(sink, marks.quote);
}

std::string jsonOfLiteral(std::string_view text) {
  // Read as the only argument of a call.
  const ToolSet tools({"f"});
  std::string json;
  CallSink sink{&tools, [](std::string_view) {}, [&](std::string_view more) { json += more; }};
  LiteralCall call(sink, "");
  Reading reading = Reading::More;
  for (char c : "f(v=" + std::string(text) + ")") {
    if (reading != Reading::More)
      return "";
    reading = call.feed(c);
  }
  constexpr std::string_view kHead = "{\"v\": ";
  if (reading != Reading::Done || !json.starts_with(kHead) || !json.ends_with('}'))
    return "";
  return json.substr(kHead.size(), json.size() - kHead.size() - 1);
}

} // namespace ingot::text
