//===- ChatOutput.cpp - The parser of answers: text and marks -------===//

#include "runtime/text/ChatOutputImpl.h"

#include <algorithm>
#include <utility>

namespace ingot::text {

ChatOutputParser::Impl::Impl(std::shared_ptr<const ChatReading> given)
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

void ChatOutputParser::Impl::collectMarks() {
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

void ChatOutputParser::Impl::collectEnds() {
  auto add = [this](std::string_view mark) { // other marks, and shorter ones, may begin a value
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

std::string_view ChatOutputParser::Impl::callMark() const {
  return tools->syntax == CallSyntax::Object ? tools->open.substr(0, tools->open.find('{'))
                                             : tools->open;
}

// ---------------------------------------------------------------- output

void ChatOutputParser::Impl::give(Kind kind, std::string_view text) {
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

void ChatOutputParser::Impl::say(Kind kind, std::string_view text) {
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

template <typename Visit> void ChatOutputParser::Impl::eachMark(Visit visit) const {
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

void ChatOutputParser::Impl::matchMarks(Kind kind) {
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

void ChatOutputParser::Impl::openReasoning() {
  at = At::Reasoning;
  reasoned = dropLines = heldOpen = true;
  space.clear();
}

void ChatOutputParser::Impl::endPart() {
  space.clear();
  spaceHasMark = false;
  textFollows = raw;
}

void ChatOutputParser::Impl::take(const std::string &whole) {
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
      if (whole == pair.close) { // text may contain this mark, so it is shown if more text follows
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

// ---------------------------------------------------------------- the text

void ChatOutputParser::Impl::step(char c) {
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
    if (wantsTools() && mark.empty() && !started && tools->bare.find(c) != std::string_view::npos) {
      openBody("", true);
      return body(c);
    }
    mark += c;
    return matchMarks(Kind::Content);
  }
}

void ChatOutputParser::Impl::run() {
  while (next < input.size() && !over)
    step(input[next++]);
  input.clear();
  next = 0;
}

void ChatOutputParser::Impl::countToken(bool before) {
  if (!before || at != At::Reasoning || std::exchange(openedAgain, false)) {
    heldTokens = 0;
    return;
  }
  ++heldTokens;
  if (mark.empty())
    reasoningTokens += std::exchange(heldTokens, 0);
}

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
  // Text that is read again may open another call, which then has no end either.
  while (impl->at == At::Body || impl->at == At::Call)
    impl->finishCall(cut);
  // A truncated header is not shown to the reader, but text that only looked like a header is shown.
  if (impl->at == At::Header && (impl->raw || impl->headerIsForReader())) {
    impl->at = At::Content;
    if (impl->raw)
      impl->say(OutputPiece::Kind::Content, std::exchange(impl->headerMark, {}));
    impl->say(OutputPiece::Kind::Content, std::exchange(impl->header, {}));
  }
  // The answer may end with the beginning of a mark.
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
