//===- ChatOutput.h - Reasoning and tool calls in what a model writes -------===//
//
// A chat model marks its reasoning and its tool calls in its text, each family in its own way. A
// parser takes the text as it streams and gives back what it means, never showing part of a mark:
//
//   "Let me see.<tool_call>\n{\"name\": \"f\", …"  ->  Content "Let me see."
//                                                     ToolCall 0 name "f", Arguments "{…" as they
//                                                     come
//
// A mark counts where its format has it: that of reasoning once, at its place; that of a call where
// a call of a known tool follows. Everything else is the model's text, to the last blank.
//
// The formats are rows of two tables (OutputFormats.h). Adding one: docs/extending.md.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/Text.h"
#include "runtime/text/ToolSet.h"

namespace ingot::text {

/// Part of an answer. Joined, the pieces of one kind (and tool call) are that part whole.
struct OutputPiece {
  enum class Kind : uint8_t { Content, Reasoning, ToolName, ToolArguments };
  Kind kind;
  int32_t toolCall = -1; ///< 0, 1, … for the last two kinds; a name comes whole, before arguments
  std::string text;      ///< ToolArguments: JSON text of an object
};

/// How a model marks tool calls and reasoning; empty names: it does not.
struct OutputFormat {
  std::string tools;          ///< a name of toolFormatNames(), or ""
  std::string reasoning;      ///< a name of reasoningFormatNames(), or ""
  bool reasoningOpen = false; ///< the template itself opens it: the answer begins inside
  bool answerOpen = false;    ///< likewise of the marks around the answer
};
/// Arguments that were cut, as the JSON object that they began.
std::string closedArguments(std::string_view begun);
/// The formats known, by name.
std::span<const std::string_view> toolFormatNames();
std::span<const std::string_view> reasoningFormatNames();
/// What a chat template says by the marks that it writes.
OutputFormat detectOutputFormat(std::string_view chatTemplate);
/// "tools: hermes; reasoning: think"; of what is not known "none known".
std::string describeFormat(const OutputFormat &format);
/// The format of one answer: a rendered prompt that leaves reasoning or the answer open says more
/// than the template alone (variables such as enable_thinking decide).
OutputFormat formatBehind(OutputFormat format, std::string_view prompt);
/// How an answer is to be read.
struct ChatReading {
  OutputFormat format;
  ToolSet tools; ///< that may be called; a call of another name is content. Empty: none are sought
  /// End the answer where one of them appears in its content. They are never shown, not even in
  /// part. Reasoning and calls do not end by them.
  std::vector<std::string> stops;
  bool showStop = false; ///< the stop string that ends the answer is shown
  bool oneCall = false;  ///< the answer ends behind its first call
  bool mustCall = false; ///< all of the answer but its reasoning is calls
};

class ChatOutputParser {
public:
  explicit ChatOutputParser(std::shared_ptr<const ChatReading> reading);
  ~ChatOutputParser();
  ChatOutputParser(ChatOutputParser &&) noexcept;
  /// The text of the next token (special tokens spelled out). `mayStop`: stop strings are looked
  /// for in it.
  std::vector<OutputPiece> push(std::string_view text, bool mayStop = true);
  /// The end: what was held back. A call that is malformed or without an end comes as content, unless
  /// its name was given already: its arguments are closed then, so that they are JSON. `cut`: by the
  /// limit of tokens or a client. Arguments are given as far as they came then, and the beginning of a
  /// call without a name is given only where the answer may be text: no call stands before it, and
  /// none must be made.
  std::vector<OutputPiece> finish(bool cut = false);
  int32_t toolCalls() const;       ///< begun so far
  bool ended() const;              ///< by a stop string or behind the only call: nothing is given
                                   ///< from then on
  const std::string &stop() const; ///< the stop string that ended it, or ""
  /// Tokens (calls of push()) of reasoning so far, without those of its marks.
  int64_t reasoningTokens() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// What an answer must be, for answerGrammar().
struct AnswerShape {
  std::string_view tools{}; ///< a JSON array in OpenAI's shape of what may be called; "": no calls
  std::string_view tool{};  ///< the one that must be called, by name; "": any
  bool mustCall = false;    ///< else it may answer
  /// Any text is an answer, `answer` says nothing, and calls may stand anywhere in it. Arguments of
  /// tools without "strict": true are bound only in syntaxes that write neither JSON nor bare text.
  bool anyText = false;
  bool parallel = true; ///< one call or more
  /// The Lark source of a rule's body that an answer must match (`%json {…}`, `/…/`); "": any text.
  std::string answer{};
};

/// A regex as a terminal of Lark: between slashes, with slashes and line feeds escaped.
std::string larkRegex(std::string_view regex);
/// The Lark source (GrammarKind::Lark, llguidance) that makes a model of that format call a tool or
/// answer in a shape. Calls are spelled as the format does, with arguments by the schemas of the
/// tools. A model that reasons may do so first. `tokenizer`: marks that are special tokens of it are
/// written as such (without it they are text, which such a model does not expect). E0631 if calls
/// are asked for and the format has none, E0632 if the tools are not such or `tool` is none of them.
/// What is wrong in a schema is told when the grammar is compiled.
Result<std::string> answerGrammar(const OutputFormat &format, const AnswerShape &shape,
                                  const Tokenizer *tokenizer = nullptr);

} // namespace ingot::text
