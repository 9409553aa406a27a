//===- ParameterCallReader.cpp - Calls with a mark around each value ------===//
//
//   f>\n<parameter=city>\nOslo\n</parameter>\n<parameter=n>\n1\n</parameter>\n</function>
//     ->  {"city": "Oslo", "n": 1}
//
//   Name ──nameEnd──▶ Between ──keyOpen──▶ Key ──keyEnd──▶ Value
//                      │   ▲                                │
//                    close └── valueEnd, then a key or close ┘
//                      ▼
//                     Done
//
// A value is the text between its marks. It may contain the mark that ends values. The mark therefore ends
// the value only if a key or the end of the call follows. If the mark is missing, the value ends at the next
// mark of an outer level. That is another key of the tool, or the end of the call if the end of all calls,
// another call or the end of the answer follows it. The format or the tool's schema decides whether a value
// is a string or JSON. It is JSON if it has a type that the schema allows, otherwise a string. Strings
// stream, and other values come in one piece.
//===----------------------------------------------------------------------===//

#include "runtime/text/CheckedJson.h"
#include "runtime/text/Json.h"
#include "runtime/text/ToolCallReader.h"

#include <algorithm>
#include <array>

namespace ingot::text {

namespace {

/// Matches a mark in text that may have other white space than the mark.
class MarkMatcher {
public:
  explicit MarkMatcher(std::string_view mark) : mark(mark) {}
  void reset() { at = 0; }
  /// Returns More if the text may be the mark, Done if it is, Bad if it is not.
  Reading feed(char c) {
    // The text may omit white space of the mark, and may have additional white space.
    while (at < mark.size() && isSpace(mark[at]) && !isSpace(c))
      ++at;
    const bool betweenTags = at > 0 && at < mark.size() && mark[at - 1] == '>' && mark[at] == '<';
    if (isSpace(c) &&
        (betweenTags || at == 0 || at == mark.size() || isSpace(mark[at]) || isSpace(mark[at - 1])))
      return Reading::More;
    if (at == mark.size() || mark[at] != c)
      return Reading::Bad;
    ++at;
    size_t rest = at;
    while (rest < mark.size() && isSpace(mark[rest]))
      ++rest;
    return rest == mark.size() ? Reading::Done : Reading::More;
  }

private:
  std::string_view mark;
  size_t at = 0;
};

class ParameterCall : public ToolCallReader {
public:
  ParameterCall(const ToolMarks &marks, CallSink &sink)
      : marks(marks), sink(sink), close(trimmed(marks.close)), keyOpen(trimmed(marks.keyOpen)),
        sectionEnd(trimmed(marks.sectionEnd)), open(trimmed(marks.open)),
        elements(marks.syntax == CallSyntax::Elements) {}

  Reading feed(char c) override {
    switch (at) {
    case At::Name:
      return name(c);
    case At::NameEnd:
      return nameEnd(c);
    case At::Between:
      return between(c);
    case At::Key:
      return key(c);
    case At::Value:
      return value(c);
    }
    return Reading::Bad;
  }

  void finish(bool whole) override {
    if (!begun || !whole)
      return;
    if (at == At::Value) {
      const std::string rest = std::exchange(tail, {});
      const bool ends = rest.starts_with(close);
      if (ends) // text after the end mark is not part of the call
        behind = rest.substr(close.size());
      else if (rest.size() == 1)
        take(rest.front());
      endValue(/*marked=*/rest.starts_with(valueEnd));
    }
    sink.arguments("}");
  }

private:
  enum class At : uint8_t { Name, NameEnd, Between, Key, Value };

  Reading name(char c) {
    const std::string_view end = trimmed(marks.nameEnd);
    const bool ends = isSpace(c) || c == '<' || c == '"' || c == '>' ||
                      (!end.empty() && c == end.front()) || c == close.front();
    if (!ends) {
      word += c;
      return word.size() <= kLongestName ? Reading::More : Reading::Bad;
    }
    if (word.empty() && isSpace(c))
      return Reading::More;
    if (word.starts_with("functions.") && !sink.tools->has(word))
      word.erase(0, 10);
    if (!sink.tools->has(word))
      return Reading::Bad;
    callee = word;
    word.clear();
    at = end.empty() ? At::Between : At::NameEnd;
    return feed(c);
  }

  /// Takes a character of the mark after the name; '#' in the mark is an id.
  Reading nameEnd(char c) {
    const std::string_view end = trimmed(marks.nameEnd);
    if (isSpace(c) && (seen == 0 || seen == end.size()))
      return Reading::More;
    if (end[seen] == '#') {
      if (isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return Reading::More;
      ++seen;
    }
    if (end[seen] != c)
      return Reading::Bad;
    if (++seen == end.size())
      at = At::Between; // a key or the end will make it certain that this is a call
    return Reading::More;
  }

  /// Takes a character of white space, of the next key's mark, or of the end of the call.
  Reading between(char c) {
    if (word.empty() && isSpace(c))
      return Reading::More;
    word += c;
    const bool mayBeKey = keyOpen.starts_with(word), mayBeEnd = close.starts_with(word);
    if (mayBeEnd && word.size() == close.size()) {
      start();
      sink.arguments("}");
      return Reading::Done;
    }
    // In MiniMax-M3, the "<" of a key also begins the end of a call.
    if (mayBeKey && word.size() == keyOpen.size() && !(elements && c == '/')) {
      word.clear();
      at = At::Key;
      return Reading::More;
    }
    if (mayBeKey || mayBeEnd || !begun)
      return mayBeKey || mayBeEnd ? Reading::More : Reading::Bad;
    // The end of the call is missing.
    sink.arguments("}");
    behind = word;
    return Reading::Done;
  }

  void start() {
    if (begun)
      return;
    begun = true;
    sink.name(callee);
    sink.arguments("{");
  }

  Reading key(char c) {
    if (elements && word.empty() && c == '/') { // this tag is the end of the call
      word = keyOpen;
      at = At::Between;
      return between(c);
    }
    word += c;
    if (word.size() > 4 * kLongestName)
      return Reading::Bad;
    MarkMatcher end(marks.keyEnd);
    const std::string_view mark = trimmed(marks.keyEnd);
    if (c != mark.back())
      return Reading::More;
    // The end mark may contain white space, so compare it part by part.
    const std::string_view whole = word;
    size_t from = whole.find(mark.substr(0, std::min(mark.size(), mark.find('>') + 1)));
    for (; from != std::string_view::npos; from = whole.find(mark.front(), from + 1)) {
      end.reset();
      Reading reading = Reading::More;
      for (size_t i = from; i < whole.size() && reading == Reading::More; ++i)
        reading = end.feed(whole[i]);
      if (reading == Reading::Done)
        return named(whole.substr(0, from));
    }
    return Reading::More;
  }

  Reading named(std::string_view header) {
    const size_t quote = header.find('"');
    path.assign(1, std::string(trimmed(header.substr(0, quote))));
    given.push_back(path.front());
    const std::string_view attributes =
        quote == std::string_view::npos ? "" : header.substr(quote + 1);
    auto says = [&](std::string_view text) { return attributes.find(text) != header.npos; };
    types = sink.tools->types(callee, path);
    if (says("string=\"true\"") || says("type=\"string\""))
      types = kText;
    else if (says("string=\"false\"") || says("type=\""))
      types = 0xff & ~kText;
    start();
    if (anyKey)
      sink.arguments(", ");
    anyKey = true;
    sink.arguments(jsonString(path.front()) + ": ");
    word.clear();
    text.clear();
    valueEnd = std::string(trimmed(marks.valueEnd));
    if (elements)
      valueEnd += path.front() + ">";
    streams = !elements && (types == 0 || types == kText);
    first = true;
    data = false;
    tail.clear();
    if (streams)
      sink.arguments("\"");
    at = At::Value;
    return Reading::More;
  }

  void give(char c) {
    if (!streams) {
      text += c;
      return;
    }
    std::string escaped;
    appendEscaped(escaped, c);
    sink.arguments(escaped);
  }

  /// Takes a character of the value. A line feed is held, since the last line feed may belong to the
  /// mark.
  void take(char c) {
    if (first && marks.trimLines && c == '\n') {
      first = false;
      return;
    }
    first = false;
    if (streams) {
      if (lineFeed)
        give('\n');
      lineFeed = c == '\n';
      if (lineFeed)
        return;
    }
    give(c);
  }

  /// Takes a character while a value is read. `tail` holds a possible end mark of the value and the text
  /// after it.
  Reading value(char c) {
    tail += c;
    if (closed && isSpace(c))
      return Reading::More;
    size_t from = 0; // text before this index has been consumed
    auto keep = [&] {
      tail.erase(0, from);
      return Reading::More;
    };
    for (; from < tail.size(); ++from) {
      const std::string_view rest = std::string_view(tail).substr(from);
      if (data ? kDataClose.starts_with(rest)
               : marks.cdata && first && kDataOpen.starts_with(rest)) {
        if (rest.size() == (data ? kDataClose : kDataOpen).size()) {
          data = !data;
          first = false;
          from = tail.size();
        }
        return keep();
      }
      if (!data && valueEnd.starts_with(rest)) {
        closed = rest.size() == valueEnd.size();
        return keep();
      }
      if (!data && rest.starts_with(valueEnd)) {
        const std::string after(trimmed(rest.substr(valueEnd.size())));
        if (after == keyOpen || after == close) {
          endValue(/*marked=*/true);
          Reading reading = Reading::More;
          for (char each : after)
            reading = between(each);
          return reading;
        }
        if (!sectionEnd.empty() && after == sectionEnd) { // the end of the call is missing
          endValue(/*marked=*/true);
          sink.arguments("}");
          behind = after;
          return Reading::Done;
        }
        if (after.empty() || sectionEnd.starts_with(after) ||
            (keyOpen.starts_with(after) && after.size() < keyOpen.size()) ||
            (close.starts_with(after) && after.size() < close.size()))
          return keep();
      }
      const Reading outer = data ? Reading::Bad : endsWithoutMark(rest);
      if (outer == Reading::More)
        return keep();
      if (outer == Reading::Done)
        return endWithoutMark(std::string(rest));
      closed = false;
      take(tail[from]);
    }
    return keep();
  }

  /// Returns whether a value ends before `rest`, a mark of an outer level. More means undecided.
  Reading endsWithoutMark(std::string_view rest) const {
    auto begins = [](std::string_view text, std::string_view mark) {
      return text.starts_with(mark)   ? Reading::Done
             : mark.starts_with(text) ? Reading::More
                                      : Reading::Bad;
    };
    auto wordOf = [](std::string_view text) {
      return text.substr(0, text.find_first_of(" \n\r\t<>\""));
    };
    Reading reading = begins(rest, close);
    if (reading == Reading::More)
      return reading;
    if (reading == Reading::Done) {
      const std::string_view after = trimmed(rest.substr(close.size()));
      reading = sectionEnd.empty() ? Reading::Bad : begins(after, sectionEnd);
      if (reading != Reading::Bad)
        return reading;
      if (reading = begins(after, open); reading == Reading::Done) {
        const std::string_view called = wordOf(after.substr(open.size()));
        if (called.size() < after.size() - open.size() && sink.tools->has(called))
          return Reading::Done;
      }
      // The end of the answer may follow, or text that shows that this was part of the value.
      return rest.size() > kMostHeld || rest.ends_with(valueEnd) ? Reading::Bad : Reading::More;
    }
    const bool line = streams ? lineFeed : text.ends_with('\n');
    if (elements || first || (marks.trimLines && !line))
      return Reading::Bad;
    if (reading = begins(rest, keyOpen); reading != Reading::Done)
      return reading;
    const std::string_view key = wordOf(rest.substr(keyOpen.size()));
    if (key.size() + keyOpen.size() == rest.size())
      return key.size() > kLongestName ? Reading::Bad : Reading::More;
    const bool known = sink.tools->types(callee, std::array{std::string(key)}) != 0;
    return known && std::ranges::find(given, key) == given.end() ? Reading::Done : Reading::Bad;
  }

  Reading endWithoutMark(const std::string &rest) {
    endValue(/*marked=*/false);
    if (rest.starts_with(close)) {
      sink.arguments("}");
      behind = rest.substr(close.size());
      return Reading::Done;
    }
    for (char each : rest)
      if (Reading reading = feed(each); reading != Reading::More)
        return reading;
    return Reading::More;
  }

  /// Ends a value. `marked`: its own mark ends it. A line feed before another mark belongs to that mark.
  void endValue(bool marked) {
    tail.clear();
    word.clear();
    if (streams && lineFeed && marked && !marks.trimLines)
      give('\n');
    lineFeed = closed = false;
    at = At::Between;
    if (streams) {
      sink.arguments("\"");
      return;
    }
    std::string_view whole = text;
    if ((marks.trimLines || !marked) && whole.ends_with('\n'))
      whole.remove_suffix(1);
    sink.arguments(elements ? elementJson(whole, path) : jsonOf(whole, types));
  }

  /// Returns the value as JSON if it has an allowed type, otherwise as a string.
  static std::string jsonOf(std::string_view text, uint8_t allowed) {
    const std::string_view bare = trimmed(text);
    uint8_t type = 0;
    if (std::string json = checkedJson(bare, type); !json.empty()) {
      if (type & allowed & ~kText)
        return json;
      // If the schema allows no strings, unquote "12". If it allows them, keep the quotes.
      if (type == kText && !(allowed & kText))
        return json;
    }
    if (!(allowed & kText) || bare == "None" || bare == "True" || bare == "False") {
      std::string json = jsonOfLiteral(bare);
      if (checkedJson(json, type); !json.empty() && (type & allowed))
        return json;
    }
    return jsonString(text);
  }

  /// Converts the value of a parameter in the format of MiniMax-M3 to JSON. A value is text, or a list of tags that each
  /// contain a value. Tags called "item" form an array.
  std::string elementJson(std::string_view value, std::vector<std::string> &where) const {
    const std::string_view open = keyOpen;
    const uint8_t allowed = sink.tools->types(callee, where);
    const std::string_view bare = trimmed(value);
    if (!bare.starts_with(open) || allowed == kText || where.size() > kDeepest) {
      if (bare.empty() && (allowed == kObject || allowed == kArray))
        return allowed == kObject ? "{}" : "[]";
      return jsonOf(value, allowed);
    }
    std::string json;
    bool list = false;
    for (std::string_view rest = bare; !rest.empty(); rest = trimmed(rest)) {
      const size_t end = rest.find('>', open.size());
      if (!rest.starts_with(open) || end == rest.npos)
        return jsonString(value);
      const std::string tag(rest.substr(open.size(), end - open.size()));
      rest.remove_prefix(end + 1);
      const std::string openTag = std::string(open) + tag + ">";
      const std::string closeTag = std::string(trimmed(marks.valueEnd)) + tag + ">";
      size_t depth = 1, at = 0;
      for (; depth; ++at) {
        const size_t nextClose = rest.find(closeTag, at), nextOpen = rest.find(openTag, at);
        if (nextClose == rest.npos) { // the answer ended before the closing tag
          at = rest.size() + 1;
          break;
        }
        depth += nextOpen < nextClose ? 1 : -1;
        at = std::min(nextOpen, nextClose);
      }
      list = tag == "item" && !(allowed & kObject);
      where.push_back(list ? std::string(kItems) : tag);
      json += (json.empty() ? "" : ", ") + (list ? "" : jsonString(tag) + ": ") +
              elementJson(rest.substr(0, at - 1), where);
      where.pop_back();
      rest.remove_prefix(std::min(rest.size(), at - 1 + closeTag.size()));
    }
    return (list ? "[" : "{") + json + (list ? "]" : "}");
  }

  const ToolMarks &marks;
  CallSink &sink;
  const std::string_view close, keyOpen, sectionEnd, open;
  const bool elements;
  At at = At::Name;
  std::string word, callee;
  size_t seen = 0; ///< matched characters of the mark after the name
  bool begun = false, anyKey = false;
  std::vector<std::string> path;  ///< the current key
  std::vector<std::string> given; ///< all keys so far
  uint8_t types = 0;
  bool streams = false; ///< the value is a string
  std::string valueEnd, text, tail;
  bool first = true;     ///< no character of the value has been consumed
  bool lineFeed = false; ///< a line feed is held
  bool data = false;     ///< within CDATA
  bool closed = false;   ///< `tail` is the end mark of a value and white space
};

} // namespace

std::unique_ptr<ToolCallReader> readParameterCall(const ToolMarks &marks, CallSink &sink) {
  return std::make_unique<ParameterCall>(marks, sink);
}

} // namespace ingot::text
