//===- ChatOutputImpl.h - The state of the parser of answers --------===//
//
// The parser reads the text once, one character at a time, in one of these states:
//
//   Header ──message──▶ Reasoning ──close──▶ Content ──opener──▶ Body ──begins──▶ Call (a reader)
//     ▲                                      ▲    ▲               │ ▲               │ Done
//     └──────────── end of a message ────────┘    └─close, other──┘ └───────────────┘
//                                                 └────────── Bad: what was read is content ─┘
//
// Until a call is certain, its text is kept. If it turns out not to be a call, it becomes content
// unchanged, with its marks. White space that stands alone next to a call, or at the end of
// reasoning, separates parts and is not shown. All other white space is shown.
//
// ChatOutput.cpp reads text and the marks in it. ChatOutputMessages.cpp reads the headers of formats in which answers
// consist of messages (Harmony). ChatOutputCalls.cpp reads the calls.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/ChatOutput.h"
#include "runtime/text/OutputFormats.h"
#include "runtime/text/ToolCallReader.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::text {

struct ChatOutputParser::Impl {
  using Kind = OutputPiece::Kind;
  std::shared_ptr<const ChatReading> reading;
  const ToolMarks *tools;
  const AnswerMarks *marks; ///< marks of reasoning and of the answer; may be null
  /// Reasoning is not separated from the answer, and messages are only parsed for calls. All other text
  /// is content, including marks.
  bool raw = false;
  std::string_view reasoningOpen; ///< in the form that the parser looks for
  enum class At : uint8_t { Begin, Header, Reasoning, Content, Body, Call };
  At at = At::Begin;
  std::string input; ///< text that is still to be read
  size_t next = 0;
  std::string mark;          ///< possible beginning of a mark
  std::string kept;          ///< undecided text, which is content if it is not a call
  std::string space;         ///< white space, shown only if content follows
  std::string headerMark;    ///< the mark that began the header, if text may contain that mark
  std::string header;        ///< header of a message
  std::string answerEnd;     ///< the mark that ends the answer; "": none was opened
  bool spaceHasMark = false; ///< `space` also holds a mark, which is not shown at the end
  bool started = false;      ///< there was content or a call, so no bare call may begin any more
  bool reasoned = false;     ///< reasoning was opened, or can no longer be opened
  bool textFollows = false;  ///< there was content after the last call or mark
  bool dropLines = false;    ///< line feeds after a reasoning mark belong to the mark
  bool certain = false;      ///< the reader has reported the call's name
  bool strict = false, bracket = false;
  bool named = false; ///< the message's header has shown that this is a call
  int32_t calls = 0, callsBefore = 0;
  int64_t reasoningTokens = 0, heldTokens = 0;
  bool over = false;
  bool mayStop = true; ///< stop strings may end the answer
  std::optional<StopMatcher> stops;
  CallSink sink;
  std::unique_ptr<ToolCallReader> reader;
  std::vector<OutputPiece> pieces;
  std::vector<std::string_view> openers, closers; ///< marks of calls, in the form that the parser
                                                  ///< looks for
  std::vector<std::string_view> callEnds; ///< marks of calls and messages after which no call can
                                          ///< continue
  bool lineHeld = false;                  ///< a line feed that may belong to the mark after it
  bool heldOpen = false;                  ///< reasoning was opened and has no text yet
  bool openedAgain = false; ///< the model opened reasoning after the template had opened it
  bool wasCall = false;     ///< the previous message was a call

  explicit Impl(std::shared_ptr<const ChatReading> given);
  void collectMarks();
  void collectEnds();
  /// Returns the mark that opens one call. For an object, it ends where the object begins.
  std::string_view callMark() const;

  // ---------------------------------------------------------------- output

  void give(Kind kind, std::string_view text);
  void say(Kind kind, std::string_view text);

  // ---------------------------------------------------------------- marks

  bool wantsTools() const { return tools && !reading->tools.empty(); }
  bool mayOpenReasoning() const {
    return marks && !marks->reasoning.open.empty() &&
           (marks->anywhere ? !textFollows : at == At::Begin && !reasoned);
  }
  /// Visits the marks that count in this state.
  template <typename Visit> void eachMark(Visit visit) const;
  /// Checks whether `mark` is a mark or the beginning of one. The longest match wins, since some marks
  /// begin with others.
  void matchMarks(Kind kind);
  void openReasoning();
  void endPart();
  void take(const std::string &whole);

  // ---------------------------------------------------------------- messages

  /// Handles a message mark: its end, or the beginning of another header.
  bool takeOfMessage(const std::string &whole);
  void endMessage();
  void headerStep(char c);
  bool mayBeHeader() const;
  /// Returns whether headers contain only the name of the message's recipient.
  bool namesAlone() const { return marks->recipient.empty() && marks->channel.empty(); }
  /// Returns whether the beginning of a mark can only belong to a control token.
  bool isControl(std::string_view begun) const;
  /// Returns whether a truncated header is the text of a model that answers without a header.
  bool headerIsForReader() const;
  /// Called when the model answers without a header: the header read so far is text.
  void headerIsText();
  void openMessage(std::string_view text);

  // ---------------------------------------------------------------- calls

  void openBody(std::string_view opener, bool isStrict);
  /// Returns whether this mark opens one call, so that its reader begins, and not a section.
  bool isCallMark(std::string_view text) const;
  void begin(std::unique_ptr<ToolCallReader> made);
  /// Takes a character between calls: white space, separators, a bracket around the calls, or marks.
  void body(char c);
  bool longerMark() const;
  bool opens(std::string_view text) const;
  /// Returns whether a closing mark ends all calls, and not a single one.
  bool ends(std::string_view text) const;
  void leave();
  void call(char c);
  /// Handles a call without its end mark, and the text that follows it.
  void endCall(const std::string &rest);
  void afterCall();
  void readAgain(std::string_view text);
  /// Called if the kept text is not a call. It becomes content, and may contain another opener after its
  /// first character.
  void fail();
  /// Returns whether the kept text can only be the beginning of a call.
  bool beginsCall() const;
  /// Handles an answer that ends within a call, or where a call may begin.
  void finishCall(bool cut);

  // ---------------------------------------------------------------- the text

  void step(char c);
  void run();
  /// Counts a reasoning token. The last tokens may form a mark, which becomes clear only later.
  void countToken(bool before);
};

} // namespace ingot::text
