//===- ToolCallReader.h - Reads one tool call, character by character -----===//
//
// A reader takes the text of one call as it streams, and returns its name and its arguments as JSON
// as soon as they are certain. There is one reader for each CallSyntax of OutputFormats.h:
//
//   Object      {"name": "f", "arguments": {"a": 1}}      also "parameters" and other orders
//   Json        f[ARGS]{"a": 1}                           marks around the name
//   Parameters  f><parameter=a>1</parameter></function>   marks around each key and value
//   Elements    f"><a>1</a></invoke>                      keys are tags (MiniMax-M3)
//   Python      f(a=1, b="x")                             -> {"a": 1, "b": "x"}
//   Gemma       f{a:<escape>x<escape>,b:1}                FunctionGemma's and Gemma 4's
//
// No reader looks ahead or parses text twice, so results do not depend on how the text is cut. The
// arguments that readers return are JSON, whatever the model wrote and wherever the answer ended.
// Errors are mended (JsonMender.h), and open parts are closed.
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

/// Maximum number of open brackets, and of characters in a name, a number or a word.
constexpr size_t kDeepest = 64, kLongestName = 256;
/// Maximum number of characters that are held until it is decided whether they are a name, or the end of a
/// value or of a word.
constexpr size_t kMostHeld = 16 << 10;

/// Receives the output of a reader. `name` is called once, before any arguments, when it is certain
/// that the text is a call of one of the tools. The arguments, joined, are the JSON text of an object.
struct CallSink {
  const ToolSet *tools = nullptr; ///< tools that may be called
  std::function<void(std::string_view)> name;
  std::function<void(std::string_view)> arguments;
};

class ToolCallReader {
public:
  virtual ~ToolCallReader() = default;
  virtual Reading feed(char c) = 0;
  /// Called if the call has no end. `close`: closes the open parts of its arguments. Otherwise the answer
  /// was truncated, and the arguments are returned up to that point.
  virtual void finish(bool close) = 0;
  /// Returns whether the parser checks the next character for marks, because it is not within a text.
  virtual bool mayEnd() const { return false; }
  /// Text that was read after the end of the call.
  std::string behind;
};

/// Creates the reader of a format's syntax. `marks` and `sink` must outlive it. `strict`: a call must
/// have arguments. This is for formats in which no mark shows that the text is a call.
std::unique_ptr<ToolCallReader> readCall(const ToolMarks &marks, CallSink &sink, bool strict);

std::unique_ptr<ToolCallReader> readObjectCall(CallSink &sink, bool strict);
std::unique_ptr<ToolCallReader> readJsonCall(const ToolMarks &marks, CallSink &sink);
/// Returns a reader of the arguments of a call that already has its name.
std::unique_ptr<ToolCallReader> readJsonArguments(CallSink &sink, std::string_view name);
std::unique_ptr<ToolCallReader> readParameterCall(const ToolMarks &marks, CallSink &sink);
std::unique_ptr<ToolCallReader> readPythonCall(CallSink &sink);
std::unique_ptr<ToolCallReader> readGemmaCall(const ToolMarks &marks, CallSink &sink);

/// Returns the JSON of a Python literal ({'a': [True, None]}); "" if the text is not a literal.
std::string jsonOfLiteral(std::string_view text);

} // namespace ingot::text
