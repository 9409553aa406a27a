//===- ChatOutputMessages.cpp - Answers that are messages with headers ===//

#include "runtime/text/ChatOutputImpl.h"

#include <algorithm>
#include <utility>

namespace ingot::text {

namespace {

/// The recipient and the channel of a message, which its header contains.
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

bool ChatOutputParser::Impl::takeOfMessage(const std::string &whole) {
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

void ChatOutputParser::Impl::endMessage() {
  endPart();
  at = At::Header;
  header.clear();
}

void ChatOutputParser::Impl::headerStep(char c) {
  header += c;
  const std::string_view text = header;
  if (text.ends_with(marks->headerEnd))
    return openMessage(text.substr(0, text.size() - marks->headerEnd.size()));
  if (header.size() > 2 * kLongestName || !mayBeHeader())
    headerIsText();
}

bool ChatOutputParser::Impl::mayBeHeader() const {
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

bool ChatOutputParser::Impl::isControl(std::string_view begun) const {
  return marks && !raw && marks->hasHeaders() && marks->anywhere && begun.starts_with("<|");
}

bool ChatOutputParser::Impl::headerIsForReader() const {
  return namesAlone() ||
         (header.find('<') == header.npos && header.find(marks->recipient) == header.npos);
}

void ChatOutputParser::Impl::headerIsText() {
  at = At::Content;
  say(Kind::Content, std::exchange(headerMark, {}));
  input.replace(0, next, std::exchange(header, {}));
  next = 0;
}

void ChatOutputParser::Impl::openMessage(std::string_view text) {
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

} // namespace ingot::text
