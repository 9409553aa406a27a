//===- JsonCallReader.cpp - Arguments as JSON after the name ------------===//

#include "runtime/text/ToolCallReader.h"

namespace ingot::text {

namespace {

/// Reads the arguments of a call after its name.
class Arguments : public ToolCallReader {
public:
  Arguments(CallSink &sink, std::string_view name) : sink(sink), name(name) {}

  Reading feed(char c) override {
    if (!begun) {
      if (isSpace(c))
        return Reading::More;
      if (c != '{')
        return Reading::Bad;
      begun = true;
      sink.name(name);
    }
    std::string out;
    Reading reading = arguments.feed(c, out);
    if (!out.empty())
      sink.arguments(out);
    return reading;
  }

  void finish(bool close) override {
    std::string out;
    if (!begun) {
      sink.name(name);
      out = close ? "{}" : "";
    }
    arguments.finish(close, out);
    sink.arguments(out);
  }
  bool mayEnd() const override { return !arguments.inText(); }

private:
  CallSink &sink;
  std::string name;
  bool begun = false;
  JsonMender arguments;
};

/// Reads NAME MARK {…}. The name is the text before the brace, without marks, ids and prefixes.
/// Mistral's models also write NAME[CALL_ID]…[ARGS]{…} and NAME{…}.
class JsonCall : public ToolCallReader {
public:
  JsonCall(const ToolMarks &marks, CallSink &sink) : marks(marks), sink(sink) {}

  Reading feed(char c) override {
    if (reader)
      return reader->feed(c);
    if (c != '{') {
      head += c;
      if (const std::string_view end = markToFind(marks.close);
          !end.empty() && head.ends_with(end)) {
        head.erase(head.size() - end.size());
        if (!begin(/*whole=*/true))
          return Reading::Bad; // the call becomes text, although its mark was consumed
        reader->finish(/*close=*/true);
        behind = end;
        return Reading::Done;
      }
      return head.size() <= kLongestName ? Reading::More : Reading::Bad;
    }
    return begin(/*whole=*/false) ? reader->feed(c) : Reading::Bad;
  }

  void finish(bool close) override {
    if (reader || (close && begin(/*whole=*/true)))
      reader->finish(close);
  }
  bool mayEnd() const override { return reader && reader->mayEnd(); }

private:
  /// Called when the arguments begin, or when there are none. `whole`: the mark after the name must be
  /// present.
  bool begin(bool whole) {
    const std::string_view end = markToFind(marks.nameEnd.substr(marks.nameEnd.find('#') + 1));
    if (whole && (end.empty() || head.find(end) == head.npos))
      return false;
    const std::string name = called();
    if (!name.empty())
      reader = readJsonArguments(sink, name);
    return !name.empty();
  }

  std::string called() const {
    std::string_view rest = head;
    // Remove the part of the opening mark that follows its number: ID<|tool_call:name|>NAME.
    if (size_t number = marks.open.find('#'); number != std::string_view::npos)
      if (size_t at = rest.find(marks.open.substr(number + 1)); at != std::string_view::npos)
        rest.remove_prefix(at + marks.open.size() - number - 1);
    std::string_view end = marks.nameEnd;
    if (size_t number = end.find('#'); number != std::string_view::npos)
      end.remove_prefix(number + 1);
    end = markToFind(end);
    if (!end.empty()) {
      size_t at = rest.rfind(end);
      if (at != std::string_view::npos)
        rest = rest.substr(0, at);
      else if (rest.find('[') != std::string_view::npos || rest.find('<') != std::string_view::npos)
        return "";
    }
    if (size_t id = rest.find("[CALL_ID]"); id != std::string_view::npos)
      rest = rest.substr(0, id);
    while (!rest.empty() && isSpace(rest.front()))
      rest.remove_prefix(1);
    while (!rest.empty() && isSpace(rest.back()))
      rest.remove_suffix(1);
    // The name may have the form functions.NAME:0, with or without prefix and index. "function" is
    // DeepSeek's name for a tool's type.
    for (std::string_view prefix : {"", "functions.", "function<｜tool▁sep｜>"})
      for (bool index : {false, true}) {
        std::string_view name = rest;
        if (!name.starts_with(prefix))
          continue;
        name.remove_prefix(prefix.size());
        if (size_t colon = name.rfind(':'); index && colon != std::string_view::npos)
          name = name.substr(0, colon);
        if (sink.tools->has(name))
          return std::string(name);
      }
    return "";
  }

  const ToolMarks &marks;
  CallSink &sink;
  std::string head;
  std::unique_ptr<ToolCallReader> reader;
};

} // namespace

std::unique_ptr<ToolCallReader> readJsonCall(const ToolMarks &marks, CallSink &sink) {
  return std::make_unique<JsonCall>(marks, sink);
}
std::unique_ptr<ToolCallReader> readJsonArguments(CallSink &sink, std::string_view name) {
  return std::make_unique<Arguments>(sink, name);
}

} // namespace ingot::text
