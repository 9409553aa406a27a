//===- ChatOutput.cpp - The formats, and the parser that reads them -------===//
//
// The parser goes through the text once, a character at a time, in one of four places:
//
//   Reasoning ──close──▶ Content ──opener──▶ Body ──begin of a call──▶ Call (a ToolCallReader)
//                           ▲                 │  ▲                       │ Done
//                           └──close, other───┘  └───────────────────────┘
//                           └──────────── Bad: what was read is content ─┘
//
// Until a call is certain its text is kept; if it turns out to be none it goes through again as
// content, without the mark that made us look. Marks that no model writes for people are never
// shown.
//===----------------------------------------------------------------------===//

#include "runtime/text/ChatOutput.h"
#include "runtime/text/OutputFormats.h"
#include "runtime/text/ToolCallReader.h"

#include <algorithm>

namespace ingot::text {

namespace {

bool isNameStart(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

} // namespace

struct ChatOutputParser::Impl {
  const ToolMarks *tools = nullptr;
  const ReasoningMarks *reasoning = nullptr;
  std::vector<std::string> names;

  enum class At : uint8_t { Begin, Reasoning, Content, Body, Call };
  At at = At::Begin;
  std::string input; ///< what is still to be read
  size_t next = 0;
  std::string mark;       ///< what may be the beginning of a mark
  std::string kept;       ///< read since the last certain thing: content, if it is no call
  std::string space;      ///< shown only if something follows
  bool started = false;   ///< content or a call was seen: no bare call may begin
  bool dropSpace = false; ///< after a mark
  bool certain = false;   ///< the reader has told its name
  bool strict = false, bracket = false;
  int32_t calls = 0, callsBefore = 0;
  CallSink sink;
  std::unique_ptr<ToolCallReader> reader;
  std::vector<OutputPiece> pieces;

  void give(OutputPiece::Kind kind, std::string_view text) {
    if (text.empty())
      return;
    bool ofCall = kind == OutputPiece::Kind::ToolName || kind == OutputPiece::Kind::ToolArguments;
    int32_t call = ofCall ? calls - 1 : -1;
    if (!pieces.empty() && pieces.back().kind == kind && pieces.back().toolCall == call)
      pieces.back().text += text;
    else
      pieces.push_back({kind, call, std::string(text)});
  }

  /// Space at the beginning of a part and before a mark is not part of what is said.
  void say(OutputPiece::Kind kind, std::string_view text) {
    for (char c : text) {
      if (isSpace(c)) {
        if (!dropSpace)
          space += c;
        continue;
      }
      dropSpace = false;
      started |= kind == OutputPiece::Kind::Content;
      give(kind, space);
      space.clear();
      give(kind, std::string_view(&c, 1));
    }
  }

  bool wantsTools() const { return tools && !names.empty(); }

  /// The marks that count here: hidden ones vanish, whichever they are.
  template <typename Visit> void eachMark(Visit visit) const {
    if (reasoning) {
      visit(reasoning->close);
      if (at == At::Begin || at == At::Reasoning)
        visit(reasoning->open);
    }
    if (!wantsTools() || at == At::Reasoning)
      return;
    for (const Mark &opener : tools->openers)
      visit(opener.text);
    for (const Mark &closer : tools->closers)
      if (closer.hidden)
        visit(closer.text);
  }

  /// What `mark` begins or is. The longest mark wins, for some begin others.
  void matchMarks(OutputPiece::Kind kind) {
    while (!mark.empty()) {
      bool partial = false, whole = false;
      eachMark([&](std::string_view text) {
        partial |= text.size() > mark.size() && text.starts_with(mark);
        whole |= text == mark;
      });
      if (partial)
        return;
      if (whole)
        return take(std::exchange(mark, {}));
      std::string_view first(mark.data(), 1);
      if (at == At::Begin && !isSpace(mark.front()))
        at = At::Content;
      say(kind, first);
      mark.erase(0, 1);
    }
  }

  void take(const std::string &whole) {
    if (reasoning && whole == reasoning->open) {
      at = At::Reasoning;
      space.clear();
      dropSpace = true;
      return;
    }
    if (reasoning && whole == reasoning->close) {
      at = At::Content;
      space.clear();
      dropSpace = true;
      return;
    }
    for (const Mark &opener : tools->openers)
      if (whole == opener.text)
        return openBody(opener.hidden ? "" : whole, !opener.hidden);
    at = At::Content; // a mark that closes nothing
  }

  void openBody(std::string_view shown, bool isStrict) {
    at = At::Body;
    kept = shown;
    strict = isStrict;
    bracket = false;
    callsBefore = calls;
  }

  void begin(std::unique_ptr<ToolCallReader> made) {
    reader = std::move(made);
    certain = false;
    at = At::Call;
  }

  /// Between calls: blanks and separators, a bracket around them, the closing mark.
  void body(char c) {
    kept += c;
    std::string tail = mark + c;
    bool partial = false;
    for (const Mark &closer : tools->closers) {
      if (closer.text == tail) {
        if (calls == callsBefore)
          return fail(); // marks around something else
        mark.clear();
        kept.clear();
        return leave();
      }
      partial |= closer.text.starts_with(tail);
    }
    if (partial) {
      mark = tail;
      return;
    }
    mark.clear();
    if (tail.size() > 1)
      return fail();
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
      return; // one too many, as small models write it
    if (c == '{' && tools->json)
      begin(readJsonCall(sink, strict));
    else if (isNameStart(c) && tools->python)
      begin(readPythonCall(sink));
    else if (isNameStart(c) && tools->named)
      begin(readNamedCall(sink));
    else if (isNameStart(c) && tools->gemma)
      begin(readGemmaCall(sink));
    else
      return fail();
    kept.pop_back();
    call(c);
  }

  void leave() {
    at = At::Content;
    space.clear();
    dropSpace = true;
    started = true;
  }

  void call(char c) {
    if (!certain)
      kept += c;
    switch (reader->feed(c)) {
    case Reading::More:
      return;
    case Reading::Done:
      kept.clear();
      at = At::Body;
      return;
    case Reading::Bad:
      if (!certain)
        return fail();
      leave(); // its name is out: what follows is not taken back
      --next;
      return;
    }
  }

  /// No call: what was kept is read again as content.
  void fail() {
    std::string again = std::exchange(kept, {});
    mark.clear();
    reader.reset();
    bool began = calls > callsBefore;
    at = At::Content;
    started = true;
    if (began)
      leave();
    // A mark that is shown would be taken for an opener again.
    for (const Mark &opener : tools->openers)
      if (!opener.hidden && again.starts_with(opener.text)) {
        say(OutputPiece::Kind::Content, opener.text);
        again.erase(0, opener.text.size());
        break;
      }
    input.replace(0, next, again);
    next = 0;
  }

  void step(char c) {
    switch (at) {
    case At::Body:
      return body(c);
    case At::Call:
      return call(c);
    case At::Reasoning:
      mark += c;
      return matchMarks(OutputPiece::Kind::Reasoning);
    case At::Begin:
    case At::Content:
      if (wantsTools() && mark.empty() && !started &&
          tools->bare.find(c) != std::string_view::npos) {
        openBody("", true);
        return body(c);
      }
      mark += c;
      return matchMarks(OutputPiece::Kind::Content);
    }
  }

  void run() {
    while (next < input.size())
      step(input[next++]);
    input.clear();
    next = 0;
  }

  Impl(const OutputFormat &format, std::vector<std::string> toolNames)
      : tools(toolMarks(format.tools)), reasoning(reasoningMarks(format.reasoning)),
        names(std::move(toolNames)) {
    if (format.reasoningOpen && reasoning) {
      at = At::Reasoning;
      dropSpace = true;
    }
    sink.known = [this](std::string_view name) {
      return std::ranges::find(names, name) != names.end();
    };
    sink.name = [this](std::string_view name) {
      certain = true;
      kept.clear();
      space.clear();
      started = true;
      ++calls;
      give(OutputPiece::Kind::ToolName, name);
    };
    sink.arguments = [this](std::string_view text) {
      give(OutputPiece::Kind::ToolArguments, text);
    };
  }
};

ChatOutputParser::ChatOutputParser(const OutputFormat &format, std::vector<std::string> tools)
    : impl(std::make_unique<Impl>(format, std::move(tools))) {}
ChatOutputParser::~ChatOutputParser() = default;

std::vector<OutputPiece> ChatOutputParser::push(std::string_view text) {
  impl->pieces.clear();
  impl->input += text;
  impl->run();
  return std::move(impl->pieces);
}

std::vector<OutputPiece> ChatOutputParser::finish() {
  using At = Impl::At;
  impl->pieces.clear();
  // What is read again may open another call, which then is cut off too.
  while (impl->at == At::Body || impl->at == At::Call) {
    if (impl->calls > impl->callsBefore && (impl->at == At::Body || impl->certain))
      impl->kept.clear();
    impl->fail();
    impl->run();
  }
  // The beginning of a mark that did not come.
  auto kind = impl->at == At::Reasoning ? OutputPiece::Kind::Reasoning : OutputPiece::Kind::Content;
  impl->say(kind, std::exchange(impl->mark, {}));
  if (impl->at != At::Reasoning && impl->calls == 0)
    impl->give(kind, impl->space);
  impl->space.clear();
  return std::move(impl->pieces);
}

int32_t ChatOutputParser::toolCalls() const { return impl->calls; }

} // namespace ingot::text
