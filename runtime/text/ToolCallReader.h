//===- ToolCallReader.h - One tool call, character by character -----------===//
//
// A reader takes the text of one call as it streams and gives its name and its arguments as JSON as
// soon as they are certain. There is one per way of writing a call:
//
//   JSON        {"name": "f", "arguments": {"a": 1}}      "parameters" and other orders, too
//   Python      f(a=1, b="x")                             -> {"a": 1, "b": "x"}
//   named       f[ARGS]{"a": 1}                           Mistral's from its 11th tokenizer on
//   Gemma's     call:f{a:<escape>x<escape>,b:1}           FunctionGemma
//
// None of them looks ahead or parses again what it had: how the text is cut changes nothing.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace ingot::text {

/// Brackets that may be open at once, and characters of a name, a number or a word.
constexpr size_t kDeepest = 64, kLongestName = 256;

/// Characters as JSON has them, whatever the locale.
constexpr bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool isHex(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

enum class Reading : uint8_t {
  More,
  Done, ///< the character was the last of the call
  Bad,  ///< the character cannot follow: it was not taken
};

/// What a reader tells. `name` comes once, before any arguments, when it is certain that this is a
/// call; false: there is no such tool. Arguments joined are the JSON text of an object.
struct CallSink {
  std::function<bool(std::string_view)> known;
  std::function<void(std::string_view)> name;
  std::function<void(std::string_view)> arguments;
};

class ToolCallReader {
public:
  virtual ~ToolCallReader() = default;
  virtual Reading feed(char c) = 0;
};

/// `strict`: a call has arguments (where no mark says that this is a call).
std::unique_ptr<ToolCallReader> readJsonCall(CallSink &sink, bool strict);
std::unique_ptr<ToolCallReader> readPythonCall(CallSink &sink);
std::unique_ptr<ToolCallReader> readNamedCall(CallSink &sink);
std::unique_ptr<ToolCallReader> readGemmaCall(CallSink &sink);

/// A JSON object checked as it comes: Done at its last brace. The first character must be '{'.
class JsonObjectScanner {
public:
  Reading feed(char c);
  void reset() { *this = {}; }

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
  std::string open;   ///< '{' and '[' that are not closed
  std::string scalar; ///< of a number or a word
  bool isKey = false;
  int escape = 0; ///< 1: after a backslash; 2 to 5: digits of \u that are missing, less one
};

} // namespace ingot::text
