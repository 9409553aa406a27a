//===- ChatOutput.cpp - The parser of answers ------------------------------===//
//
// The parser reads the text once, one character at a time, in one of these states:
//
//   Header ──message──▶ Reasoning ──close──▶ Content ──opener──▶ Body ──begins──▶ Call (a reader)
//     ▲                                      ▲    ▲               │ ▲               │ Done
//     └──────────── end of a message ────────┘    └─close, other──┘ └───────────────┘
//                                                 └────────── Bad: what was read is content ─┘
//
// Until a call is certain, its text is kept; if it turns out not to be a call, it becomes content
// unchanged, with its marks. White space alone, next to a call or at the end of reasoning,
// separates parts and is not shown; all other white space is shown.
//===----------------------------------------------------------------------===//

#include "runtime/text/ChatOutput.h"
#include "runtime/text/OutputFormats.h"
#include "runtime/text/ToolCallReader.h"

#include <algorithm>

namespace ingot::text {

namespace {

bool isNameStart(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The recipient and the channel of a message, from its header.
struct Header {
  std::string recipient, channel;
};

Header readHeader(const AnswerMarks &marks, std::string_view text) {
  auto wordBehind = [&](std::string_view mark) {
    size_t at = text.find(mark);
    if (mark.empty() || at == text.npos)
      return std::string();
    std::string_view rest = text.substr(at + mark.size());
    while (!rest.empty() && isSpace(rest.front()))
      rest.remove_prefix(1);
    return std::string(rest.substr(0, std::min(rest.size(), rest.find_first_of(" \n\r\t<"))));
  };
  if (marks.recipient.empty() && marks.channel.empty()) {
    while (!text.empty() && isSpace(text.back()))
      text.remove_suffix(1);
    return {std::string(text), ""};
  }
  return {wordBehind(marks.recipient), wordBehind(marks.channel)};
}

} // namespace

struct ChatOutputParser::Impl {
  using Kind = OutputPiece::Kind;
  std::shared_ptr<const ChatReading> reading;
  const ToolMarks *tools;
  const AnswerMarks *marks; ///< of reasoning and the answer; may be null
  /// Reasoning is not separated from the answer, and messages are only parsed for calls: all other
  /// text is content, including marks.
  bool raw = false;
  std::string_view reasoningOpen; ///< in the form that the parser looks for

  enum class At : uint8_t { Begin, Header, Reasoning, Content, Body, Call };
  At at = At::Begin;
  std::string input; ///< text that is still to be read
  size_t next = 0;
  std::string mark;          ///< possible beginning of a mark
  std::string kept;          ///< text since the last decided point: content, if it is not a call
  std::string space;         ///< white space, shown only if content follows
  std::string headerMark;    ///< the mark that began the header, if text may contain that mark
  std::string header;        ///< header of a message
  std::string answerEnd;     ///< the mark that ends the answer; "": none was opened
  bool spaceHasMark = false; ///< `space` also holds a mark, which is not shown at the end
  bool started = false;      ///< content or a call was seen: no bare call may begin any more
  bool reasoned = false;     ///< reasoning was opened, or can no longer be opened
  bool textFollows = false;  ///< content since the last call or mark: its white space is shown
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
  std::vector<std::string_view> openers, closers; ///< of calls, in the form that the parser looks
                                                  ///< for
  std::vector<std::string_view> callEnds; ///< those of calls and messages after which no call can
                                          ///< continue

  explicit Impl(std::shared_ptr<const ChatReading> given)
      : reading(std::move(given)), tools(toolMarks(reading->format.tools)),
        marks(answerMarks(reading->format.reasoning)),
        reasoningOpen(marks ? markToFind(marks->reasoning.open) : "") {
    if (!reading->stops.empty())
      stops.emplace(reading->stops);
    if (!marks && wantsTools() && !tools->messages.empty()) {
      marks = answerMarks(tools->messages);
      raw = textFollows = true;
    }
    if (marks && marks->hasHeaders())
      at = At::Header;
    else if (marks && reading->format.reasoningOpen)
      openReasoning();
    else if (marks && reading->format.answerOpen)
      answerEnd = marks->answer.front().close;
    if (tools && !(marks && marks->bodyIsArguments))
      collectMarks();
    collectEnds();
    sink.tools = &reading->tools;
    sink.name = [this](std::string_view name) {
      certain = true;
      kept.clear();
      space.clear();
      started = true;
      ++calls;
      give(Kind::ToolName, name);
    };
    sink.arguments = [this](std::string_view text) { give(Kind::ToolArguments, text); };
  }

  void collectMarks() {
    auto add = [](std::vector<std::string_view> &list, std::string_view text) {
      const std::string_view found = markToFind(text);
      if (!found.empty() && std::ranges::find(list, found) == list.end())
        list.push_back(found);
    };
    add(openers, tools->section);
    add(openers, callMark());
    for (std::string_view also : tools->alsoOpen)
      add(openers, also);
    if (tools->syntax != CallSyntax::Parameters && tools->syntax != CallSyntax::Elements)
      add(closers, tools->close);
    add(closers, tools->sectionEnd);
    for (std::string_view also : tools->alsoClose)
      add(closers, also);
  }

  void collectEnds() {
    auto add = [this](std::string_view mark) { // shorter or other marks may begin a value
      if (mark.size() > 2 && std::string_view("<[`>").find(mark.front()) != mark.npos)
        callEnds.push_back(mark);
    };
    for (const auto *list : {&openers, &closers})
      std::ranges::for_each(*list, add);
    if (!marks || !marks->hasHeaders())
      return;
    std::ranges::for_each(marks->messageEnds, add);
    add(marks->headerStart);
    add(marks->channel);
  }

  /// The mark that opens one call. For an object, it ends where the object begins.
  std::string_view callMark() const {
    return tools->syntax == CallSyntax::Object ? tools->open.substr(0, tools->open.find('{'))
                                               : tools->open;
  }

  // ---------------------------------------------------------------- output

  void give(Kind kind, std::string_view text) {
    if (text.empty() || over)
      return;
    std::string shown;
    if (kind == Kind::Content && stops && mayStop) {
      shown = stops->push(text);
      over = stops->stopped();
      if (over && reading->showStop)
        shown += stops->match();
      text = shown;
      if (text.empty())
        return;
    }
    bool ofCall = kind == Kind::ToolName || kind == Kind::ToolArguments;
    int32_t call = ofCall ? calls - 1 : -1;
    if (!pieces.empty() && pieces.back().kind == kind && pieces.back().toolCall == call)
      pieces.back().text += text;
    else
      pieces.push_back({kind, call, std::string(text)});
  }

  void say(Kind kind, std::string_view text) {
    for (char c : text) {
      if (dropLines && (c == '\n' || c == '\r'))
        continue;
      dropLines = false;
      // A line feed before the mark that ends the answer belongs to the mark.
      if (kind == Kind::Content && textFollows && !answerEnd.empty() && !marks->anywhere) {
        if (std::exchange(lineHeld, c == '\n'))
          give(kind, "\n");
        if (lineHeld)
          continue;
      }
      // The last line feeds of reasoning may belong to its closing mark.
      if (kind == Kind::Reasoning ? c == '\n' || c == '\r' : isSpace(c) && !textFollows) {
        space += c;
        continue;
      }
      if (kind == Kind::Content)
        started = textFollows = true;
      spaceHasMark = false;
      give(kind, std::exchange(space, {}));
      give(kind, std::string_view(&c, 1));
    }
  }

  // ---------------------------------------------------------------- marks

  bool wantsTools() const { return tools && !reading->tools.empty(); }
  bool mayOpenReasoning() const {
    return marks && !marks->reasoning.open.empty() &&
           (marks->anywhere ? !textFollows : at == At::Begin && !reasoned);
  }

  /// Visits the marks that count in this state.
  template <typename Visit> void eachMark(Visit visit) const {
    if (marks && marks->hasHeaders()) {
      for (std::string_view end : marks->messageEnds)
        visit(end);
      visit(marks->headerStart);
      visit(marks->channel);
    }
    if (at == At::Reasoning) {
      if (marks->reasoning.close.empty())
        return;
      visit(marks->reasoning.close);
      if (heldOpen) // the model repeats the opening mark of the template
        visit(reasoningOpen);
      return;
    }
    if (mayOpenReasoning())
      visit(reasoningOpen);
    if (marks) {
      for (const MarkPair &pair : marks->answer) {
        if (!textFollows)
          visit(pair.open);
        if (pair.close == answerEnd)
          visit(pair.close);
      }
      if (!textFollows)
        for (std::string_view text : marks->skipped)
          visit(text);
    }
    if (!wantsTools())
      return;
    for (std::string_view opener : openers)
      visit(opener);
  }

  /// Checks whether `mark` begins or is a mark. The longest match wins, since some marks begin
  /// others.
  void matchMarks(Kind kind) {
    while (!mark.empty()) {
      bool partial = false, whole = false;
      eachMark([&](std::string_view text) {
        partial |= text.size() > mark.size() && text.starts_with(mark);
        whole |= !text.empty() && text == mark;
      });
      if (partial)
        return;
      if (whole)
        return take(std::exchange(mark, {}));
      std::string_view first(mark.data(), 1);
      if (!isSpace(mark.front())) {
        if (at == At::Begin)
          at = At::Content;
        heldOpen = false;
      }
      say(kind, first);
      mark.erase(0, 1);
    }
  }

  bool lineHeld = false;    ///< a line feed that may belong to the mark after it
  bool heldOpen = false;    ///< reasoning was opened and has no text yet
  bool openedAgain = false; ///< by the model, after the template had already opened it
  bool wasCall = false;     ///< the previous message was a call

  void openReasoning() {
    at = At::Reasoning;
    reasoned = dropLines = heldOpen = true;
    space.clear();
  }

  void endPart() {
    space.clear();
    spaceHasMark = false;
    textFollows = raw;
  }

  void take(const std::string &whole) {
    if (marks && marks->hasHeaders() && takeOfMessage(whole))
      return;
    if (at == At::Reasoning) {
      if (whole == marks->reasoning.close) {
        endPart();
        at = At::Content;
        dropLines = true;
        heldOpen = false;
        if (!marks->answer.empty() && marks->answer.front().open.empty())
          answerEnd = marks->answer.front().close;
      } else {
        dropLines = openedAgain = true;
        heldOpen = false;
      }
      return;
    }
    if (mayOpenReasoning() && whole == reasoningOpen)
      return openReasoning();
    if (marks) {
      for (const MarkPair &pair : marks->answer) {
        if (whole == pair.open) {
          endPart();
          answerEnd = pair.close;
          at = At::Content;
          dropLines = !marks->anywhere;
          return;
        }
        if (whole == pair.close && marks->anywhere) {
          answerEnd.clear();
          return endPart();
        }
        if (whole == pair.close) { // the text itself may contain it, so it is shown if text follows
          textFollows = false;
          space += (std::exchange(lineHeld, false) ? "\n" : "") + whole;
          spaceHasMark = true;
          return;
        }
      }
      if (std::ranges::find(marks->skipped, whole) != marks->skipped.end())
        return endPart();
    }
    if (std::exchange(lineHeld, false))
      give(Kind::Content, "\n");
    openBody(whole, tools->fenced);
  }

  // ---------------------------------------------------------------- messages

  /// Handles a message mark: its end, or the beginning of another header.
  bool takeOfMessage(const std::string &whole) {
    const bool start = whole == marks->headerStart || whole == marks->channel;
    if (!start && std::ranges::find(marks->messageEnds, whole) == marks->messageEnds.end())
      return false;
    endMessage();
    header = whole == marks->channel ? whole : "";
    headerMark = start && (raw || namesAlone()) && header.empty() ? whole : "";
    if (raw && !start && !std::exchange(wasCall, false))
      give(Kind::Content, whole);
    return true;
  }

  void endMessage() {
    endPart();
    at = At::Header;
    header.clear();
  }

  void headerStep(char c) {
    header += c;
    const std::string_view text = header;
    if (text.ends_with(marks->headerEnd))
      return openMessage(text.substr(0, text.size() - marks->headerEnd.size()));
    if (header.size() > 2 * kLongestName || !mayBeHeader())
      headerIsText();
  }

  bool mayBeHeader() const {
    std::string_view text = header;
    auto begins = [&](std::string_view mark) {
      return !mark.empty() && (text.starts_with(mark) || mark.starts_with(text));
    };
    if (namesAlone()) // the name of a tool, or of the reader
      return begins(marks->headerStart) ||
             std::ranges::all_of(text, [](char c) { return c != ' ' && c != '{'; });
    for (std::string_view word : {std::string_view(), marks->headerStart, marks->role}) {
      if (text.starts_with(word))
        text.remove_prefix(word.size());
      while (!text.empty() && isSpace(text.front()))
        text.remove_prefix(1);
    }
    return begins(marks->headerStart) || begins(marks->channel) || begins(marks->recipient) ||
           begins(marks->headerEnd) || begins(marks->role) || begins(marks->constraint) ||
           std::ranges::any_of(marks->messageEnds, begins);
  }
  /// Whether headers contain only the name of the message's recipient.
  bool namesAlone() const { return marks->recipient.empty() && marks->channel.empty(); }

  /// Whether the beginning of a mark can only belong to a control token.
  bool isControl(std::string_view begun) const {
    return marks && !raw && marks->hasHeaders() && marks->anywhere && begun.starts_with("<|");
  }

  /// Whether a truncated header is the text of a model that answers without one.
  bool headerIsForReader() const {
    return namesAlone() ||
           (header.find('<') == header.npos && header.find(marks->recipient) == header.npos);
  }

  /// There is no header: the model answers without one.
  void headerIsText() {
    at = At::Content;
    say(Kind::Content, std::exchange(headerMark, {}));
    input.replace(0, next, std::exchange(header, {}));
    next = 0;
  }

  void openMessage(std::string_view text) {
    const Header read = readHeader(*marks, text);
    endPart();
    auto is = [&](std::string_view who) {
      return !who.empty() && (read.recipient == who || read.channel == who);
    };
    std::string_view tool = read.recipient;
    if (!marks->toolPrefix.empty() && tool.starts_with(marks->toolPrefix))
      tool.remove_prefix(marks->toolPrefix.size());
    if (!tool.empty() && marks->bodyIsArguments && wantsTools() && reading->tools.has(tool)) {
      header.clear();
      headerMark.clear();
      wasCall = true;
      openBody("", true);
      begin(readJsonArguments(sink, tool));
      named = true;
      return;
    }
    if (namesAlone() && !is(marks->toReader))
      return headerIsText();
    wasCall = false;
    if (raw) {
      give(Kind::Content, headerMark + header);
      headerMark.clear();
      header.clear();
      at = At::Content;
      return;
    }
    header.clear();
    headerMark.clear();
    at = is(marks->toSelf) ? At::Reasoning : At::Content;
    dropLines = at == At::Reasoning;
  }

  // ---------------------------------------------------------------- calls

  void openBody(std::string_view opener, bool isStrict) {
    at = At::Body;
    kept = opener;
    strict = isStrict;
    bracket = false;
    callsBefore = calls;
    if (isCallMark(opener))
      begin(readCall(*tools, sink, strict));
  }

  /// Whether this is the mark of one call, after which its reader begins, rather than that of a
  /// section.
  bool isCallMark(std::string_view text) const {
    return !text.empty() && text == markToFind(callMark()) && !tools->eitherShape &&
           (tools->syntax == CallSyntax::Json || tools->syntax == CallSyntax::Parameters ||
            tools->syntax == CallSyntax::Elements || tools->syntax == CallSyntax::Gemma);
  }

  void begin(std::unique_ptr<ToolCallReader> made) {
    reader = std::move(made);
    certain = named = false;
    at = At::Call;
  }

  /// Between calls: white space and separators, a bracket around the calls, marks.
  void body(char c) {
    kept += c;
    mark += c;
    bool partial = false;
    for (const auto *list : {&openers, &closers})
      for (std::string_view text : *list) {
        const bool closes = list == &closers;
        if (text == mark && (closes || !longerMark())) {
          const std::string whole = std::exchange(mark, {});
          if (closes && calls == callsBefore && !opens(whole))
            return fail(); // these marks enclose something else
          if (!closes && isCallMark(whole))
            return begin(readCall(*tools, sink, strict));
          if (closes)
            kept.clear();
          if (closes && ends(whole))
            leave();
          return;
        }
        partial |= text.starts_with(mark);
      }
    if (partial)
      return;
    if (const size_t rest = mark.size() - 1) { // only the first character has been consumed
      c = mark.front();
      input.replace(0, next, mark, 1);
      next = 0;
      kept.erase(kept.size() - rest);
    }
    mark.clear();
    if (isSpace(c) || (calls > callsBefore && (c == ',' || c == ';')))
      return;
    if (c == '[' && !bracket && calls == callsBefore) {
      bracket = true;
      return;
    }
    if (c == ']' && bracket && calls > callsBefore) {
      bracket = false;
      kept.clear();
      return;
    }
    if (calls > callsBefore && !strict && c == '}')
      return; // a surplus brace, as small models write it
    const bool object = tools->syntax == CallSyntax::Object;
    if (c == '{' &&
        (object || tools->fenced || tools->eitherShape || tools->syntax == CallSyntax::Python))
      begin(readObjectCall(sink, strict));
    else if (isNameStart(c) && tools->syntax == CallSyntax::Python)
      begin(readPythonCall(sink));
    else if (isNameStart(c) && tools->eitherShape)
      begin(readJsonCall(*toolMarks("mistral-args"), sink));
    else
      return fail();
    kept.pop_back();
    call(c);
  }

  bool longerMark() const {
    return std::ranges::any_of(openers, [&](std::string_view text) {
      return text.size() > mark.size() && text.starts_with(mark);
    });
  }
  bool opens(std::string_view text) const {
    return std::ranges::find(openers, text) != openers.end();
  }
  /// Whether a closing mark ends all calls, rather than a single one.
  bool ends(std::string_view text) const {
    return text == markToFind(tools->sectionEnd) || tools->section.empty() ||
           std::ranges::find(tools->alsoClose, text) != tools->alsoClose.end();
  }

  void leave() {
    at = At::Content;
    endPart();
    started = true;
  }

  void call(char c) {
    if ((certain || named) && (!mark.empty() || reader->mayEnd())) {
      mark += c;
      auto matches = [&](auto match) { return std::ranges::any_of(callEnds, match); };
      if (matches([&](auto end) { return end.size() > mark.size() && end.starts_with(mark); }))
        return;
      if (matches([&](auto end) { return end == mark; }))
        return endCall(std::exchange(mark, {}));
      c = mark.front();
      readAgain(std::exchange(mark, {}).substr(1));
    }
    if (!certain)
      kept += c;
    switch (reader->feed(c)) {
    case Reading::More:
      return;
    case Reading::Done:
      return afterCall();
    case Reading::Bad:
      if (!certain)
        return fail();
      return endCall(std::string(1, c)); // its name was returned and cannot be retracted
    }
  }

  /// Handles a call that lacks its end, and the text that follows it.
  void endCall(const std::string &rest) {
    reader->finish(/*close=*/true);
    reader->behind += rest;
    if (certain)
      return afterCall();
    kept += rest;
    fail();
  }

  void afterCall() {
    kept.clear();
    mark.clear();
    at = At::Body;
    over |= reading->oneCall;
    readAgain(std::exchange(reader->behind, {}));
    if (marks && marks->hasHeaders() && marks->bodyIsArguments)
      leave();
  }

  void readAgain(std::string_view text) {
    input.replace(0, next, text);
    next = 0;
  }

  /// Not a call: the kept text is content, and may contain another opener after its first
  /// character.
  void fail() {
    std::string again = std::exchange(kept, {});
    mark.clear();
    reader.reset();
    at = At::Content;
    if (calls > callsBefore) {
      leave();
    } else if (!again.empty()) {
      started = true;
      // Without this, the mark itself would be taken for an opener again.
      size_t size = 1;
      for (std::string_view text : openers)
        if (again.starts_with(text))
          size = std::max(size, text.size());
      say(Kind::Content, std::string_view(again).substr(0, size));
      again.erase(0, size);
    }
    readAgain(again);
  }

  /// Whether the kept text can only be the beginning of a call.
  bool beginsCall() const {
    const std::string_view begun =
        std::string_view(kept).substr(std::min(kept.find_first_not_of(" \n\r\t,;"), kept.size()));
    auto opens = [&](std::string_view mark) { return begun.starts_with(mark); };
    return reading->mustCall ||
           (calls > 0 && (bracket || opens("{") || std::ranges::any_of(openers, opens)));
  }

  /// Handles an answer that ends within a call, or where a call may begin.
  void finishCall(bool cut) {
    const std::string begun = std::exchange(mark, {});
    if (at == At::Call && (certain || named)) {
      if (begun.size() == 1)
        (void)reader->feed(begun.front());
      reader->finish(!cut);
    } else if (at == At::Call && !cut) {
      reader->finish(/*close=*/true); // it may be a call without arguments
    }
    const bool read = at == At::Call && certain;
    if (read)
      afterCall();
    if (read || (calls > callsBefore && at == At::Body) || (cut && beginsCall()))
      kept.clear();
    if (at == At::Body || at == At::Call)
      fail();
    run();
  }

  // ---------------------------------------------------------------- the text

  void step(char c) {
    switch (at) {
    case At::Header:
      return headerStep(c);
    case At::Body:
      return body(c);
    case At::Call:
      return call(c);
    case At::Reasoning:
      mark += c;
      return matchMarks(Kind::Reasoning);
    case At::Begin:
    case At::Content:
      if (wantsTools() && mark.empty() && !started &&
          tools->bare.find(c) != std::string_view::npos) {
        openBody("", true);
        return body(c);
      }
      mark += c;
      return matchMarks(Kind::Content);
    }
  }

  void run() {
    while (next < input.size() && !over)
      step(input[next++]);
    input.clear();
    next = 0;
  }

  /// Counts a reasoning token. The last ones may form a mark, which only becomes clear later.
  void countToken(bool before) {
    if (!before || at != At::Reasoning || std::exchange(openedAgain, false)) {
      heldTokens = 0;
      return;
    }
    ++heldTokens;
    if (mark.empty())
      reasoningTokens += std::exchange(heldTokens, 0);
  }
};

ChatOutputParser::ChatOutputParser(std::shared_ptr<const ChatReading> reading)
    : impl(std::make_unique<Impl>(std::move(reading))) {}
ChatOutputParser::~ChatOutputParser() = default;
ChatOutputParser::ChatOutputParser(ChatOutputParser &&) noexcept = default;

std::vector<OutputPiece> ChatOutputParser::push(std::string_view text, bool mayStop) {
  impl->pieces.clear();
  impl->mayStop = mayStop;
  if (impl->over)
    return {};
  const bool reasoning = impl->at == Impl::At::Reasoning;
  impl->input += text;
  impl->run();
  impl->countToken(reasoning);
  return std::move(impl->pieces);
}

std::vector<OutputPiece> ChatOutputParser::finish(bool cut) {
  using At = Impl::At;
  impl->pieces.clear();
  if (impl->over)
    return {};
  // The re-read text may open another call, which then also lacks its end.
  while (impl->at == At::Body || impl->at == At::Call)
    impl->finishCall(cut);
  // A truncated header is not shown to the reader; text that only looked like a header is.
  if (impl->at == At::Header && (impl->raw || impl->headerIsForReader())) {
    impl->at = At::Content;
    if (impl->raw)
      impl->say(OutputPiece::Kind::Content, std::exchange(impl->headerMark, {}));
    impl->say(OutputPiece::Kind::Content, std::exchange(impl->header, {}));
  }
  // The beginning of a mark that was not completed.
  auto kind = impl->at == At::Reasoning ? OutputPiece::Kind::Reasoning : OutputPiece::Kind::Content;
  const bool ofText = impl->at == At::Content || impl->at == At::Begin;
  const bool ofCall = cut && ofText && impl->mark.size() > 1 &&
                      ((impl->calls > 0 && !impl->textFollows) || impl->reading->mustCall);
  if (std::string mark = std::exchange(impl->mark, {}); !ofCall && !impl->isControl(mark))
    impl->say(kind, mark);
  if (std::exchange(impl->lineHeld, false))
    impl->give(kind, "\n");
  if (impl->at == At::Reasoning)
    impl->reasoningTokens += std::exchange(impl->heldTokens, 0);
  else if (impl->calls == 0 && !impl->spaceHasMark)
    impl->give(kind, impl->space);
  impl->space.clear();
  if (impl->stops && !impl->over)
    if (std::string rest = impl->stops->flush(); !rest.empty()) {
      impl->stops.reset();
      impl->give(OutputPiece::Kind::Content, rest);
    }
  return std::move(impl->pieces);
}

std::string closedArguments(std::string_view begun) { return closedObject(begun); }

int32_t ChatOutputParser::toolCalls() const { return impl->calls; }
bool ChatOutputParser::ended() const { return impl->over; }
const std::string &ChatOutputParser::stop() const {
  static const std::string kNone;
  return impl->stops ? impl->stops->match() : kNone;
}
int64_t ChatOutputParser::reasoningTokens() const { return impl->reasoningTokens; }

} // namespace ingot::text
