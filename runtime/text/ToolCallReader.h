//===- ToolCallReader.h - One tool call, character by character -----------===//
//
// A reader takes the text of one call as it streams and gives its name and its arguments as JSON as
// soon as they are certain. There is one for each CallSyntax of OutputFormats.h:
//
//   Object      {"name": "f", "arguments": {"a": 1}}      "parameters" and other orders, too
//   Json        f[ARGS]{"a": 1}                           marks around the name
//   Parameters  f><parameter=a>1</parameter></function>   marks around each key and value
//   Elements    f"><a>1</a></invoke>                      keys are tags (MiniMax-M3)
//   Python      f(a=1, b="x")                             -> {"a": 1, "b": "x"}
//   Gemma       f{a:<escape>x<escape>,b:1}                FunctionGemma's and Gemma 4's
//
// None of them looks ahead or parses again what it had: how the text is cut changes nothing. What
// they give of arguments is JSON, whatever the model wrote and wherever the answer ended: what is
// broken is mended (JsonMender.h), what is open is closed.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/JsonMender.h"
#include "runtime/text/OutputFormats.h"
#include "runtime/text/ToolSet.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace ingot::text {

/// Brackets that may be open at once, and characters of a name, a number or a word.
constexpr size_t kDeepest = 64, kLongestName = 256;
/// Characters that wait at most for what says what they are: a name, the end of a value or of a word.
constexpr size_t kMostHeld = 16 << 10;

/// Where a reader gives what it has read. `name` comes once, before any arguments, when it is
/// certain that this is a call of one of the tools. Arguments joined are the JSON text of an object.
struct CallSink {
  const ToolSet *tools = nullptr; ///< that may be called
  std::function<void(std::string_view)> name;
  std::function<void(std::string_view)> arguments;
};

class ToolCallReader {
public:
  virtual ~ToolCallReader() = default;
  virtual Reading feed(char c) = 0;
  /// The call has ended without its end. `close`: what is open of its arguments is closed; else the
  /// answer was cut, and they are given as far as they came.
  virtual void finish(bool close) = 0;
  /// Whether the next character is looked at for marks: it stands in no value of bare text.
  virtual bool mayEnd() const { return false; }
  /// What was read behind the call, once it has ended.
  std::string behind;
};

/// The reader of a format's syntax. `marks` and `sink` must outlive it. `strict`: a call has
/// arguments (where no mark says that this is a call).
std::unique_ptr<ToolCallReader> readCall(const ToolMarks &marks, CallSink &sink, bool strict);

std::unique_ptr<ToolCallReader> readObjectCall(CallSink &sink, bool strict);
std::unique_ptr<ToolCallReader> readJsonCall(const ToolMarks &marks, CallSink &sink);
/// The arguments of a call whose name is known already.
std::unique_ptr<ToolCallReader> readJsonArguments(CallSink &sink, std::string_view name);
std::unique_ptr<ToolCallReader> readParameterCall(const ToolMarks &marks, CallSink &sink);
std::unique_ptr<ToolCallReader> readPythonCall(CallSink &sink);
std::unique_ptr<ToolCallReader> readGemmaCall(const ToolMarks &marks, CallSink &sink);

/// The JSON of a Python literal ({'a': [True, None]}); "": it is none.
std::string jsonOfLiteral(std::string_view text);
/// A text as JSON, with control characters in its strings escaped, and the type of its value (one
/// of ValueTypes); "": it is none.
std::string checkedJson(std::string_view text, uint8_t &type);

/// A JSON object or array checked as it comes: Done at its last bracket. The first character must
/// be its first bracket. Control characters within strings are taken.
class JsonObjectScanner {
public:
  Reading feed(char c);
  /// Whether the last character that was fed stands within a string.
  bool inText() const { return at == At::Text; }
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
