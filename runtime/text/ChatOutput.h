//===- ChatOutput.h - Reasoning and tool calls in what a model writes -------===//
//
// A chat model marks its reasoning and its tool calls in its text, each family in its own way. A
// parser takes the text as it streams and gives back what it means, never showing part of a mark:
//
//   "Let me see.<tool_call>\n{\"name\": \"f\", …"  ->  Content "Let me see."
//                                                     ToolCall 0 name "f", Arguments "{…" as they
//                                                     come
//
// A format is one row of a table (OutputFormats.cpp): how it is recognised from a chat template,
// its marks, and the function that reads a call. Adding one: docs/extending.md.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/Text.h"

namespace ingot::text {

/// Part of an answer. Joined, the pieces of one kind (and tool call) are that part whole.
struct OutputPiece {
  enum class Kind : uint8_t { Content, Reasoning, ToolName, ToolArguments };
  Kind kind;
  int32_t toolCall = -1; ///< 0, 1, … for the last two kinds; a name comes whole, before arguments
  std::string text;      ///< ToolArguments: JSON text of an object
};

/// How a model marks tool calls and reasoning; null members: it does not.
struct OutputFormat {
  std::string tools; ///< "hermes", "llama3-json", "llama3-pythonic", "mistral", "gemma3", … or ""
  std::string reasoning;      ///< "think", … or ""
  bool reasoningOpen = false; ///< the template itself opens it: the answer begins inside
};
/// The formats known, by name.
std::span<const std::string_view> toolFormatNames();
/// What a chat template says by the marks it writes; names that are not known are E0630 where a
/// user asks for them.
OutputFormat detectOutputFormat(std::string_view chatTemplate);
/// Whether a rendered prompt leaves reasoning open, which says more than the template alone
/// (variables such as enable_thinking decide): what `reasoningOpen` should be for this answer.
bool endsInReasoning(const OutputFormat &format, std::string_view prompt);

class ChatOutputParser {
public:
  /// `tools`: the names that may be called; a call of another name is content. Empty: tool calls
  /// are not looked for.
  ChatOutputParser(const OutputFormat &format, std::vector<std::string> tools);
  ~ChatOutputParser();
  /// The next text of the answer (special tokens spelled out).
  std::vector<OutputPiece> push(std::string_view text);
  /// The end: what was held back. A call that is cut off or malformed comes as content, unless its
  /// name was given already.
  std::vector<OutputPiece> finish();
  int32_t toolCalls() const; ///< begun so far

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// A grammar (GrammarKind::Lark or JsonSchema source, llguidance) that makes a model of that format
/// call one of the tools: `toolsJson` is the request's array of function tools; `name` empty: any.
/// `parallel`: one or more calls. `tokenizer`: marks that are special tokens of it are written as
/// such (without it they are text, which such a model does not expect). A model that reasons may do
/// so first. E0631 if the format has none, E0632 if the tools are not such or `name` is none of
/// them.
struct ToolGrammar {
  std::string lark;
};
Result<ToolGrammar> toolGrammar(const OutputFormat &format, std::string_view toolsJson,
                                std::string_view name, bool parallel,
                                const Tokenizer *tokenizer = nullptr);

/// The Lark source (GrammarKind::Lark) of an answer in JSON from a model that may reason first: a
/// grammar of the answer alone would take its reasoning away. `schema` empty: any object. What is
/// wrong in the schema is told when it is compiled.
std::string reasoningThenJson(const OutputFormat &format, std::string_view schema,
                              const Tokenizer *tokenizer);

} // namespace ingot::text
