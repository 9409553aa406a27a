//===- JsonMender.h - JSON as models write it, as JSON ---------------------===//
//
// A call whose name is out cannot be taken back, so its arguments must become JSON whatever follows.
// The mender takes them as they stream and gives JSON:
//
//   control characters in strings, \q, a lone \ud83d  ->  \n, \\q, �
//   True, None, NaN, Infinity                         ->  true, null, null, null
//   01, +1, .5, 1_000, 0x1f; any other word           ->  1, 1, 0.5, 1000, 31; "the word"
//   'x', {a: 1}, "say "hi" now", [1, 2,], {"a" 1}     ->  "x", {"a": 1}, "say \"hi\" now", [1, 2], {"a": 1}
//   {"l": [1, 2}, the end within a string             ->  what is open is closed
//
// JSON itself comes out as it went in.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::text {

enum class Reading : uint8_t {
  More,
  Done, ///< the character was the last one
  Bad,  ///< the character cannot follow: it was not taken
};

class JsonMender {
public:
  /// Appends to `out` what is certain. The first character must be '{' or '['. Done at the bracket
  /// that closes it. What lies in more than 64 brackets is null. Bad: a word is too long.
  Reading feed(char c, std::string &out);
  /// The text has ended. `close`: what is open is closed; else what was held is given as it came.
  void finish(bool close, std::string &out);
  /// Whether the next character stands within a string.
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
  std::string open;  ///< '{' and '[' that are not closed
  std::string held;  ///< a comma and white space, given if something follows
  std::string word;  ///< of a number, a word, or a key without quotes
  std::string gap;   ///< white space behind what may be the end of a string
  std::string begun; ///< an escape that is not whole
  bool isKey = false;
  char quote = '"';
  int below = 0; ///< brackets that are open in what lies too deep
  bool inSkipped = false, skipEscape = false;
};

/// A scalar as JSON: true, 1; "": it is none, whatever is mended in it.
std::string mendedScalar(std::string_view word);
/// The beginning of a JSON object, closed; "{}" of nothing.
std::string closedObject(std::string_view begun);
/// Without white space at both ends.
std::string_view trimmed(std::string_view text);
/// -?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?
bool isJsonNumber(std::string_view text);
/// Appends a character of a JSON string, escaped where JSON wants it.
void appendEscaped(std::string &json, char c);
/// Appends a character as UTF-8; U+FFFD for half of a pair.
void appendUtf8(std::string &text, uint32_t code);

/// Characters as JSON has them, whatever the locale.
constexpr bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool isHex(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

} // namespace ingot::text
