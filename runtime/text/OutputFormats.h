//===- OutputFormats.h - How model families mark calls and reasoning ------===//
//
// Two tables describe what a chat model writes. A row of the first (ToolMarks) says how calls are
// spelled, a row of the second (AnswerMarks) where reasoning and the answer itself stand. The
// parser (ChatOutput.cpp), the readers of one call (ToolCallReader.h), the grammars (ToolGrammar.cpp)
// and the detection from a chat template all read these rows. docs/extending.md says how to add one.
//
// Marks are spelled as the family's own template writes them, with its white space, so that a
// grammar can force exactly that text. Readers take any white space where a mark has some, and
// none. In a mark, '#' stands for letters and digits that the model chooses (a call's index or id).
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::text {

/// How one call is written between its marks.
enum class CallSyntax : uint8_t {
  Object,     ///< {"name": "f", "arguments": {…}}
  Json,       ///< f MARK {…}: the name between marks, the arguments as a JSON object
  Parameters, ///< f MARK KEY MARK VALUE MARK …: marks around each key and each value
  Elements,   ///< as Parameters, but keys are tags and values may hold tags (MiniMax-M3)
  Python,     ///< f(a=1)
  Gemma,      ///< f{a:1,b:QUOTE text QUOTE}
};

/// How a format with CallSyntax::Parameters says of what type a value is.
enum class ValueType : uint8_t {
  Schema,     ///< it does not: the tool's schema decides
  StringFlag, ///< KEY" string="true" or "false"
  TypeName,   ///< KEY" type="string", "number", "object" …
};

struct ToolMarks {
  std::string_view name;
  CallSyntax syntax;
  std::string_view section{}, sectionEnd{};         ///< around all calls; empty: each stands alone
  bool sectionEach = false;                         ///< around each call instead
  std::string_view open{};                          ///< begins a call, before its name
  std::string_view nameEnd{};                       ///< after the name
  std::string_view close{};                         ///< ends a call
  std::string_view separator{};                     ///< between two calls
  std::string_view keyOpen{}, keyEnd{}, valueEnd{}; ///< of Parameters and Elements
  ValueType valueType = ValueType::Schema;
  bool trimLines = false;   ///< one line feed at each end of a value belongs to its marks
  bool cdata = false;       ///< <![CDATA[ and ]]> around a text belong to its marks
  std::string_view quote{}; ///< around texts of Gemma
  std::span<const std::string_view> alsoOpen{}, alsoClose{}; ///< marks that models also write
  std::string_view bare{}; ///< characters that begin a call without a mark, first in the answer
  /// Fences of markdown: content unless a call is in them, and a call has arguments.
  bool fenced = false;
  bool oneCall = false;        ///< a turn has one call at most
  bool eitherShape = false;    ///< Mistral's marks are followed by objects or by a name
  std::string_view messages{}; ///< the AnswerMarks without whose messages no call can be told
};

/// A pair of marks around a part of the answer.
struct MarkPair {
  std::string_view open, close;
};

struct AnswerMarks {
  std::string_view name;
  MarkPair reasoning{};                        ///< empty: header() tells what is reasoning
  std::span<const MarkPair> answer{};          ///< marks around what is meant for the reader
  std::span<const std::string_view> skipped{}; ///< between parts, never shown
  /// The marks are control tokens: they count wherever they stand. Else they are text that an
  /// answer may hold, and the first pair, at the answer's beginning, alone counts.
  bool anywhere = false;

  // An answer that is a sequence of messages, each with a header: START header BODY body END.
  std::string_view headerStart{}, headerEnd{};
  std::span<const std::string_view> messageEnds{};
  std::string_view role{};       ///< of the model, as a header may name it behind its beginning
  std::string_view constraint{}; ///< before what a header says of its body's syntax
  std::string_view channel{};    ///< before the name of a channel in a header
  std::string_view recipient{};  ///< before the name of whom a message is for
  std::string_view toolPrefix{}; ///< what may stand before the name of a tool there
  std::string_view toReader{};   ///< a recipient or channel whose messages are the answer
  std::string_view toSelf{};     ///< a recipient or channel whose messages are reasoning
  bool bodyIsArguments =
      false; ///< a message for a tool holds nothing but the JSON of its arguments

  // What a grammar writes, where that is more than the marks above.
  MarkPair thought{};              ///< around reasoning that the prompt has not opened
  std::string_view answerHeader{}; ///< before an answer
  std::string_view callHeader{};   ///< before the calls; the name of the tool and headerEnd follow

  bool hasHeaders() const { return !headerEnd.empty(); }
};

/// nullptr: not known.
const ToolMarks *toolMarks(std::string_view name);
const AnswerMarks *answerMarks(std::string_view name);

/// The part of a mark that a reader looks for: without the white space around it and without the
/// brackets of a list around calls, up to a '#'.
std::string_view markToFind(std::string_view mark);

/// Around the text of a value in formats with ToolMarks::cdata.
inline constexpr std::string_view kDataOpen = "<![CDATA[", kDataClose = "]]>";

} // namespace ingot::text
