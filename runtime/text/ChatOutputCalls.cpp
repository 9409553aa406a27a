//===- ChatOutputCalls.cpp - The calls of an answer, and what only looks like one ===//

#include "runtime/text/ChatOutputImpl.h"

#include <algorithm>
#include <utility>

namespace ingot::text {

namespace {

bool isNameStart(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

} // namespace

void ChatOutputParser::Impl::openBody(std::string_view opener, bool isStrict) {
  at = At::Body;
  kept = opener;
  strict = isStrict;
  bracket = false;
  callsBefore = calls;
  if (isCallMark(opener))
    begin(readCall(*tools, sink, strict));
}

bool ChatOutputParser::Impl::isCallMark(std::string_view text) const {
  return !text.empty() && text == markToFind(callMark()) && !tools->eitherShape &&
         (tools->syntax == CallSyntax::Json || tools->syntax == CallSyntax::Parameters ||
          tools->syntax == CallSyntax::Elements || tools->syntax == CallSyntax::Gemma);
}

void ChatOutputParser::Impl::begin(std::unique_ptr<ToolCallReader> made) {
  reader = std::move(made);
  certain = named = false;
  at = At::Call;
}

void ChatOutputParser::Impl::body(char c) {
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
  if (const size_t rest = mark.size() - 1) { // consume only the first character
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
    return; // small models write a surplus brace
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

bool ChatOutputParser::Impl::longerMark() const {
  return std::ranges::any_of(openers, [&](std::string_view text) {
    return text.size() > mark.size() && text.starts_with(mark);
  });
}

bool ChatOutputParser::Impl::opens(std::string_view text) const {
  return std::ranges::find(openers, text) != openers.end();
}

bool ChatOutputParser::Impl::ends(std::string_view text) const {
  return text == markToFind(tools->sectionEnd) || tools->section.empty() ||
         std::ranges::find(tools->alsoClose, text) != tools->alsoClose.end();
}

void ChatOutputParser::Impl::leave() {
  at = At::Content;
  endPart();
  started = true;
}

void ChatOutputParser::Impl::call(char c) {
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
    return endCall(std::string(1, c)); // the name was returned and cannot be retracted
  }
}

void ChatOutputParser::Impl::endCall(const std::string &rest) {
  reader->finish(/*close=*/true);
  reader->behind += rest;
  if (certain)
    return afterCall();
  kept += rest;
  fail();
}

void ChatOutputParser::Impl::afterCall() {
  kept.clear();
  mark.clear();
  at = At::Body;
  over |= reading->oneCall;
  readAgain(std::exchange(reader->behind, {}));
  if (marks && marks->hasHeaders() && marks->bodyIsArguments)
    leave();
}

void ChatOutputParser::Impl::readAgain(std::string_view text) {
  input.replace(0, next, text);
  next = 0;
}

void ChatOutputParser::Impl::fail() {
  std::string again = std::exchange(kept, {});
  mark.clear();
  reader.reset();
  at = At::Content;
  if (calls > callsBefore) {
    leave();
  } else if (!again.empty()) {
    started = true;
    // Skip the mark, because otherwise it would be taken for an opener again.
    size_t size = 1;
    for (std::string_view text : openers)
      if (again.starts_with(text))
        size = std::max(size, text.size());
    say(Kind::Content, std::string_view(again).substr(0, size));
    again.erase(0, size);
  }
  readAgain(again);
}

bool ChatOutputParser::Impl::beginsCall() const {
  const std::string_view begun =
      std::string_view(kept).substr(std::min(kept.find_first_not_of(" \n\r\t,;"), kept.size()));
  auto opens = [&](std::string_view mark) { return begun.starts_with(mark); };
  return reading->mustCall ||
         (calls > 0 && (bracket || opens("{") || std::ranges::any_of(openers, opens)));
}

void ChatOutputParser::Impl::finishCall(bool cut) {
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

} // namespace ingot::text
