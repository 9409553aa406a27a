//===- OutputFormats.h - How the families mark calls and reasoning --------===//
//
// One row per format. The parser (ChatOutput.cpp), the grammar that forces a call (ToolGrammar.cpp)
// and what is recognised from a chat template all read this table; docs/extending.md says how to
// add a row.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ingot::text {

struct Mark {
  std::string_view text;
  bool hidden = true; ///< never shown; false: markdown, which is content unless a call is in it
};

/// How a grammar writes a call.
enum class CallShape : uint8_t {
  Json,        ///< {"name": "f", KEY: {…}}
  Python,      ///< f(a=1)
  Named,       ///< f[ARGS]{…}
  Unsupported, ///< no grammar can be made
};

struct ToolMarks {
  std::string_view name;
  std::span<const Mark> openers{}; ///< one of them begins calls, anywhere in the answer
  std::span<const Mark> closers{}; ///< one of them ends them; none: they end by themselves
  std::string_view bare{}; ///< characters that may begin a call without a mark, first in the answer
  // What a call may look like: several may hold.
  bool json = false, python = false, named = false, gemma = false;

  // For grammars: prefix, (before call after) joined by separator, suffix.
  CallShape shape = CallShape::Unsupported;
  std::string_view argumentsKey = "arguments";
  Mark prefix{}, suffix{}, before{}, after{};
  std::string_view separator{};
};

struct ReasoningMarks {
  std::string_view name, open, close;
};

/// nullptr: not known.
const ToolMarks *toolMarks(std::string_view name);
const ReasoningMarks *reasoningMarks(std::string_view name);

} // namespace ingot::text
