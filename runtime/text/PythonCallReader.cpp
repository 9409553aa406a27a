//===- PythonCallReader.cpp - Reads Python and Gemma calls --------------===//
//
//   f(a=1, b=["x", 'y'], c={"d": None})       ->  {"a": 1, "b": ["x", "y"], "c": {"d": null}}
//   f{a:1,b:[<escape>x<escape>],c:{d:null}}   ->  the same in FunctionGemma's marks
//
// Both consist of names with literal values, so one state machine reads both and writes JSON as it
// goes. A comma is written only when another item follows it, because Python allows a comma before a
// closing bracket. Adjacent texts are concatenated, as in Python. The value of an expression other
// than a literal is its source, as a string.
//===----------------------------------------------------------------------===//

#include "runtime/text/Json.h"
#include "runtime/text/ToolCallReader.h"

#include <algorithm>
#include <charconv>

namespace ingot::text {

namespace {

bool isWord(char c) {
  return isDigit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class LiteralCall : public ToolCallReader {
public:
  /// `gemmaQuote`: the quote around strings in Gemma's formats; empty for Python.
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
    case At::Dropped:
      return dropped(c);
    }
    return Reading::Bad;
  }

  void finish(bool close) override {
    if (!begun)
      return;
    if (textEnds || (at == At::Text && close))
      sink.arguments("\"");
    else if (at == At::Scalar)
      close ? endScalar() : sink.arguments(word);
    else if (at == At::Value && named() && close)
      sink.arguments("null");
    for (; close && !open.empty(); open.pop_back())
      sink.arguments(named() ? "}" : "]");
    if (close)
      sink.arguments("}");
  }
  bool mayEnd() const override { return at != At::Text && nested.empty() && innerQuote == 0; }

private:
  enum class At : uint8_t { Name, Key, Value, Scalar, Text, After, Dropped };

  char top() const { return open.empty() ? (gemma ? '}' : ')') : open.back(); }
  /// Returns whether the innermost bracket contains names with values.
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

  /// Takes a character of a name, or the bracket that ends the list of names. Once the call is certain,
  /// anything else is dropped.
  Reading key(char c) {
    Reading reading = keyOf(c);
    if (reading != Reading::Bad || !begun)
      return reading;
    word.clear();
    quote = 0;
    at = At::Dropped;
    return dropped(c);
  }

  /// Drops text up to a comma or the bracket that ends this level.
  Reading dropped(char c) {
    if (!within(c))
      return Reading::More;
    at = At::After;
    return after(c);
  }

  /// Returns whether the character ends the expression; brackets and strings within it are skipped.
  bool within(char c) {
    if (innerQuote) {
      if (innerEscape)
        innerEscape = false;
      else if (c == '\\')
        innerEscape = true;
      else if (c == innerQuote)
        innerQuote = 0;
      return false;
    }
    if (!gemma && (c == '"' || c == '\''))
      innerQuote = c;
    else if (c == '(' || c == '[' || c == '{')
      nested += c;
    else if (!nested.empty() && (c == ')' || c == ']' || c == '}'))
      nested.pop_back();
    else
      return nested.empty() && (c == ',' || c == ')' || c == ']' || c == '}');
    return false;
  }

  Reading keyOf(char c) {
    if (word.empty() && isSpace(c))
      return Reading::More;
    if (word.empty() && (c == top() || (begun && (c == ')' || c == ']' || c == '}'))))
      return close(c);
    if (word.empty() && c == ',' && begun)
      return Reading::More;
    if (quotedKeys()) {
      if (quote == 0 && word.empty() && (c == '"' || c == '\'')) {
        quote = c;
        word = c;
        return Reading::More;
      }
      if (quote == 0) { // the key is 1, True, or an unquoted name as in JavaScript
        while (c == ':' && !word.empty() && isSpace(word.back()))
          word.pop_back();
        if (c == ':' && !word.empty())
          return named(word);
        if (!isWord(c) && c != '-' && c != '.' && (word.empty() || !isSpace(c)))
          return Reading::Bad;
        word += c;
        return word.size() <= kLongestName ? Reading::More : Reading::Bad;
      }
      if (word.size() > 1 && word.back() == quote) { // the name is complete
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
    if (c == ']' || c == ')' || c == '}') {
      if (named()) { // the name has no value
        sink.arguments("null");
        at = At::After;
        return after(c);
      }
      return close(c);
    }
    if (c == ',' && !named())
      return Reading::More;
    comma();
    if (c == ',') {
      sink.arguments("null");
      at = At::After;
      return after(c);
    }
    if ((c == '[' || (c == '(' && !gemma) || c == '{') && open.size() < kDeepest) {
      open += c == '[' ? ']' : c == '(' ? ')' : '}';
      sink.arguments(c == '{' ? "{" : "[");
      at = c == '{' ? At::Key : At::Value;
      return Reading::More;
    }
    if (!gemma && (c == '"' || c == '\'')) {
      sink.arguments("\"");
      openText(c);
      return Reading::More;
    }
    word.clear();
    at = At::Scalar;
    return scalar(c);
  }

  void openText(char c) {
    quote = c;
    quotes = 1;
    triple = false;
    at = At::Text;
  }

  /// Returns whether a word may precede the quotes of a string. With an r, backslashes are text.
  static bool isPrefix(std::string_view word) {
    return word.size() <= 2 && word.find_first_not_of("rRbBuUfF") == word.npos;
  }
  static bool isRaw(std::string_view word) { return word.find_first_of("rR") != word.npos; }

  Reading scalar(char c) {
    if (gemma && escape.starts_with(word + c)) {
      word += c;
      if (word == escape) {
        word.clear();
        sink.arguments("\"");
        at = At::Text;
      }
      return Reading::More;
    }
    if (!gemma && (c == '"' || c == '\'') && nested.empty() && !innerQuote && isPrefix(word)) {
      raw = isRaw(word);
      word.clear();
      sink.arguments("\"");
      openText(c);
      return Reading::More;
    }
    if (!within(c)) {
      word += c;
      return word.size() <= kMostHeld ? Reading::More : Reading::Bad;
    }
    endScalar();
    at = At::After;
    return after(c);
  }

  /// Ends a word or a number. Anything else becomes a text.
  void endScalar() {
    while (!word.empty() && isSpace(word.back()))
      word.pop_back();
    std::string json = mendedScalar(word);
    sink.arguments(json.empty() ? jsonString(word) : json);
    word.clear();
    nested.clear();
    innerQuote = 0;
  }

  void plain(char c) {
    std::string text;
    appendEscaped(text, c);
    sink.arguments(text);
  }

  /// Ends a text. Its quote is written once it is known that no other text follows.
  void endText() {
    word.clear();
    quote = 0;
    raw = false;
    textEnds = true;
    at = At::After;
  }

  /// Returns whether `c` is one of the one or three quotes that open a string.
  bool openQuotes(char c) {
    if (quotes == 0 || c != quote) {
      quotes = 0;
      return false;
    }
    triple = ++quotes == 3;
    quotes = triple ? 0 : quotes;
    return true;
  }

  /// Takes a character of a Python string with its escapes.
  Reading quotedText(char c) {
    if (quotes == 2 && c != quote) { // the two quotes were an empty string
      quotes = 0;
      endText();
      return after(c);
    }
    if (openQuotes(c))
      return Reading::More;
    if (!word.empty()) { // the escape is incomplete; it has the form x12, u1234 or U00012345
      const size_t size = word[0] == 'x' ? 3 : word[0] == 'u' ? 5 : 9;
      if (isHex(c)) {
        word += c;
        if (word.size() == size)
          endEscape();
        return Reading::More;
      }
      endPair();
      plain('\\');
      for (char each : std::exchange(word, {}))
        plain(each);
    }
    if (escaped) {
      escaped = false;
      return escapedChar(c);
    }
    if (c == '\\') {
      if (ending)
        endQuotes();
      escaped = !raw;
      rawEscape = raw && !rawEscape;
      if (raw) {
        endPair();
        plain(c);
      }
      return Reading::More;
    }
    endPair();
    if (c == quote && !std::exchange(rawEscape, false)) {
      if (!triple || ++ending == 3) {
        ending = 0;
        endText();
      }
      return Reading::More;
    }
    rawEscape = false;
    endQuotes();
    plain(c);
    return Reading::More;
  }

  /// Writes quotes that turned out to be part of a triple-quoted text.
  void endQuotes() {
    for (; ending > 0; --ending)
      plain(quote);
  }

  Reading escapedChar(char c) {
    static constexpr std::string_view kSame = "bfnrt\"\\", kLetters = "'/";
    if (c == 'x' || c == 'u' || c == 'U') {
      word = c;
      return Reading::More;
    }
    endPair();
    if (kSame.find(c) != std::string_view::npos)
      sink.arguments(std::string{'\\', c});
    else if (kLetters.find(c) != std::string_view::npos)
      plain(c);
    else if (c != '\n') { // Python keeps unknown escapes
      plain('\\');
      plain(c);
    }
    return Reading::More;
  }

  /// Ends a numeric escape. The first half of a surrogate pair is held until the second.
  void endEscape() {
    uint32_t code = 0;
    std::from_chars(word.data() + 1, word.data() + word.size(), code, 16);
    word.clear();
    if (high && code >= 0xdc00 && code < 0xe000) {
      code = 0x10000 + ((high & 0x3ff) << 10) + (code & 0x3ff);
      high = 0;
    }
    endPair();
    if (code >= 0xd800 && code < 0xdc00) {
      high = code;
      return;
    }
    std::string text;
    if (code < 0x10000) // keep the escape if JSON has the same
      for (int shift = 12; shift >= 0; shift -= 4)
        text += "0123456789abcdef"[code >> shift & 15];
    if (code < 0x10000 && code >> 11 != 0x1b)
      text.insert(0, "\\u");
    else
      appendUtf8(text = "", code);
    sink.arguments(text);
  }
  void endPair() {
    if (std::exchange(high, 0))
      sink.arguments("\\ufffd");
  }

  /// Takes a character of text up to the next <escape>. A possible beginning of <escape> is held in
  /// `word`.
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
    if (textEnds && !gemma) { // another text may follow, with its prefix
      if (c == '+' && word.empty())
        return Reading::More;
      if (c == '"' || c == '\'') {
        textEnds = false;
        raw = isRaw(std::exchange(word, {}));
        openText(c);
        return Reading::More;
      }
      if (isPrefix(word + c)) {
        word += c;
        return Reading::More;
      }
      word.clear();
    }
    if (std::exchange(textEnds, false))
      sink.arguments("\"");
    if (c == ',') {
      needsComma = true;
      at = named() ? At::Key : At::Value;
      return Reading::More;
    }
    if (c == ')' || c == ']' || c == '}')
      return close(c);
    at = At::Dropped;
    return dropped(c);
  }

  /// Takes a closing bracket, which may close an outer level if inner levels were not closed.
  Reading close(char c) {
    if (!begun && c != top())
      return Reading::Bad;
    const char own = gemma ? '}' : ')';
    const bool inner = open.find(c) != open.npos;
    if (!inner && c != own && (gemma || c != ']')) {
      at = At::Dropped; // the bracket closes nothing
      return Reading::More;
    }
    begin();
    needsComma = false;
    while (!open.empty() && (!inner || open.back() != c)) {
      sink.arguments(named() ? "}" : "]");
      open.pop_back();
    }
    sink.arguments(named() ? "}" : "]");
    if (open.empty()) {
      if (c != own)
        behind = c; // the bracket belongs to the list of calls
      return Reading::Done;
    }
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
  int quotes = 0;      ///< quotes that have opened a text so far; more may follow
  int ending = 0;      ///< quotes that may end a triple-quoted text
  bool triple = false; ///< a triple-quoted text
  bool raw = false;    ///< backslashes are text
  bool rawEscape = false;
  bool textEnds = false; ///< a text has ended, but its quote is not written yet
  uint32_t high = 0;     ///< first half of a surrogate pair
  std::string nested;    ///< open brackets in an expression
  char innerQuote = 0;   ///< quote of a string in that expression
  bool innerEscape = false;
  std::string open; ///< closing brackets that are due, except the call's own
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
  // The literal is read as the only argument of a call.
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
