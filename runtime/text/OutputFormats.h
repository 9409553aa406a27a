//===- OutputFormats.h - How model families mark calls and reasoning ------===//
//
// Two tables describe the output of chat models. A row of the first (ToolMarks) defines how calls are
// spelt. A row of the second (AnswerMarks) defines where reasoning and the answer itself are. The
// parser (ChatOutput.cpp), the readers of one call (ToolCallReader.h), the grammars (ToolGrammar.cpp)
// and the detection from a chat template all use these rows. To add one, see docs/extending.md.
//
// Marks are spelt as the family's own template writes them, with their white space, so that a grammar
// can force exactly that text. Where a mark has white space, readers accept any amount, including
// none. In a mark, '#' represents letters and digits that the model chooses (a call's index or id).
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::text {

/// Specifies how a call is written between its marks.
enum class CallSyntax : uint8_t {
  Object,     ///< {"name": "f", "arguments": {…}}
  Json,       ///< f MARK {…}: the name is between marks, and the arguments are a JSON object
  Parameters, ///< f MARK KEY MARK VALUE MARK …: marks around each key and each value
  Elements,   ///< like Parameters, but keys are tags and values may contain tags (MiniMax-M3)
  Python,     ///< f(a=1)
  Gemma,      ///< f{a:1,b:QUOTE text QUOTE}
};

/// Specifies how a format with CallSyntax::Parameters indicates the type of a value.
enum class ValueType : uint8_t {
  Schema,     ///< the format does not indicate it, so the tool's schema decides
  StringFlag, ///< KEY" string="true" or "false"
  TypeName,   ///< KEY" type="string", "number", "object" …
};

struct ToolMarks {
  std::string_view name;
  CallSyntax syntax;
  std::string_view section{}, sectionEnd{};         ///< around all calls; empty: there are no such
                                                    ///< marks
  bool sectionEach = false;                         ///< the section is around each call instead
  std::string_view open{};                          ///< begins a call, before its name
  std::string_view nameEnd{};                       ///< ends the name
  std::string_view close{};                         ///< ends a call
  std::string_view separator{};                     ///< between two calls
  std::string_view keyOpen{}, keyEnd{}, valueEnd{}; ///< for Parameters and Elements
  ValueType valueType = ValueType::Schema;
  bool trimLines = false;   ///< one line feed at each end of a value belongs to its marks
  bool cdata = false;       ///< <![CDATA[ and ]]> around a text belong to its marks
  std::string_view quote{}; ///< mark around texts in Gemma's syntax
  std::span<const std::string_view> alsoOpen{}, alsoClose{}; ///< other marks that models write
  std::string_view bare{}; ///< characters that begin a call without a mark, only at the start of
                           ///< the answer
  /// The marks are markdown fences. They are content unless they contain a call, and a call must have
  /// arguments.
  bool fenced = false;
  bool oneCall = false;        ///< a turn has at most one call
  bool eitherShape = false;    ///< Mistral's marks are followed by objects or by a name
  std::string_view messages{}; ///< the AnswerMarks with the messages without which calls cannot be
                               ///< recognised
};

/// A pair of marks around a part of the answer.
struct MarkPair {
  std::string_view open, close;
};

struct AnswerMarks {
  std::string_view name;
  MarkPair reasoning{};                        ///< empty: message headers decide what is reasoning
  std::span<const MarkPair> answer{};          ///< marks around the answer meant for the reader
  std::span<const std::string_view> skipped{}; ///< marks between parts, which are never shown
  /// The marks are control tokens, which count wherever they appear. Otherwise they are text that an
  /// answer may contain, and only the first pair, at the beginning of the answer, counts.
  bool anywhere = false;

  // For answers that are a sequence of messages, each with a header: START header BODY body END.
  std::string_view headerStart{}, headerEnd{};
  std::span<const std::string_view> messageEnds{};
  std::string_view role{};       ///< the model's role, which a header may contain after its start
  std::string_view constraint{}; ///< before the part of a header that names its body's syntax
  std::string_view channel{};    ///< before the name of a channel in a header
  std::string_view recipient{};  ///< before the name of a message's recipient
  std::string_view toolPrefix{}; ///< may precede the name of a tool that is the recipient
  std::string_view toReader{};   ///< messages with this recipient or channel are the answer
  std::string_view toSelf{};     ///< messages with this recipient or channel are reasoning
  bool bodyIsArguments = false;  ///< a message for a tool consists only of its arguments as JSON

  // Text that a grammar writes in addition to the marks above.
  MarkPair thought{};              ///< around reasoning that the prompt has not opened
  std::string_view answerHeader{}; ///< before an answer
  std::string_view callHeader{};   ///< before the calls; the name of the tool and headerEnd follow

  bool hasHeaders() const { return !headerEnd.empty(); }
};

/// Returns the row of a format; null if the format is unknown.
const ToolMarks *toolMarks(std::string_view name);
const AnswerMarks *answerMarks(std::string_view name);

/// Returns the part of a mark that a reader looks for: without the white space around it and without
/// the brackets of a list of calls, up to a '#'.
std::string_view markToFind(std::string_view mark);

/// Marks around the text of a value in formats with ToolMarks::cdata.
inline constexpr std::string_view kDataOpen = "<![CDATA[", kDataClose = "]]>";

} // namespace ingot::text
