//===- JsonMender.h - Turns JSON as models write it into valid JSON --------===//
//
// After the name of a call has been returned, the call cannot be retracted. Its arguments must therefore become JSON,
// whatever the model writes. The mender takes them as they stream and returns JSON:
//
//   control characters in strings, \q, a lone \ud83d  ->  \n, \\q, �
//   True, None, NaN, Infinity                         ->  true, null, null, null
//   01, +1, .5, 1_000, 0x1f; any other word           ->  1, 1, 0.5, 1000, 31; "the word"
//   'x', {a: 1}, "say "hi" now", [1, 2,], {"a" 1}     ->  "x", {"a": 1}, "say \"hi\" now", [1, 2], {"a": 1}
//   {"l": [1, 2}, the end within a string             ->  all open strings and brackets are closed
//
// Valid JSON is returned unchanged.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::text {

enum class Reading : uint8_t {
  More,
  Done, ///< the character was the last one
  Bad,  ///< the character cannot follow and was not consumed
};

class JsonMender {
public:
  /// Takes a character, and appends the output that is decided to `out`. The first character must be '{'
  /// or '['. Returns Done at the bracket that closes it, and Bad if a word is too long. Values nested in
  /// more than 64 brackets become null.
  Reading feed(char c, std::string &out);
  /// Ends the text. `close`: closes everything that is open. Otherwise held text is returned unchanged.
  void finish(bool close, std::string &out);
  /// Returns whether the next character is within a string.
  bool inText() const { return at == At::Text; }

private:
  enum class At : uint8_t { Start, Next, Value, Text, AfterText, Word, After, Deep, End };

  bool inObject() const { return open.back() == '{'; }
  Reading value(char c, std::string &out);
  Reading next(char c, std::string &out);
  Reading afterText(char c, std::string &out);
  Reading after(char c, std::string &out);
  Reading deep(char c);
  Reading close(char c, std::string &out);
  void text(char c, std::string &out);
  void escape(char c, std::string &out);
  void brokenEscape(std::string &out);
  void endWord(std::string &out);
  void release(std::string &out);

  At at = At::Start;
  std::string open;  ///< unclosed '{' and '['
  std::string held;  ///< a comma and white space, written only if something follows
  std::string word;  ///< characters of a number, a word, or an unquoted key
  std::string gap;   ///< white space after a possible end of a string
  std::string begun; ///< an incomplete escape
  bool isKey = false;
  char quote = '"';
  int below = 0; ///< open brackets within a value that is nested too deep
  bool inSkipped = false, skipEscape = false;
};

/// Returns a scalar as JSON, such as true or 1; "" if it is not a scalar, even after mending.
std::string mendedScalar(std::string_view word);
/// Closes the beginning of a JSON object; "{}" if it is empty.
std::string closedObject(std::string_view begun);
/// Returns the text without white space at both ends.
std::string_view trimmed(std::string_view text);
/// Returns whether the text matches -?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?
bool isJsonNumber(std::string_view text);
/// Appends a character of a JSON string, escaped where JSON requires it.
void appendEscaped(std::string &json, char c);
/// Appends a character as UTF-8; U+FFFD for an unpaired surrogate.
void appendUtf8(std::string &text, uint32_t code);

/// JSON's character classes, which do not depend on the locale.
constexpr bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool isHex(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

} // namespace ingot::text
