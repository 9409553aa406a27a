//===- ResponseParser.cpp - See ResponseParser.h ----------------------------===//
#include "runtime/server/http/client/ResponseParser.h"

#include <algorithm>
#include <charconv>

namespace ingot::http {

namespace {

constexpr size_t kMostHeader = 64 << 10, kMostLine = 1 << 10;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char &c : out)
    c = c >= 'A' && c <= 'Z' ? char(c + 32) : c;
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

bool number(std::string_view text, int base, uint64_t &value) {
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return failed == std::errc() && end == text.data() + text.size() && !text.empty() &&
         value < uint64_t(1) << 62;
}

} // namespace

/// Parses the header block in `line` and sets the next stage.
std::string ResponseParser::readHeader() {
  std::string_view rest = line;
  auto next = [&] {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view one = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return one;
  };
  std::string_view first = next();
  uint64_t status = 0;
  if (!first.starts_with("HTTP/1.") || first.size() < 12 || first[8] != ' ' ||
      !number(first.substr(9, 3), 10, status) || status < 100)
    return "the answer is not HTTP/1.1";
  keep = first[7] != '0';
  bool chunked = false, sized = false;
  left = 0;
  while (!rest.empty()) {
    std::string_view field = next();
    const size_t colon = field.find(':');
    if (colon == std::string_view::npos)
      continue;
    const std::string name = lower(field.substr(0, colon)),
                      value = lower(trimmed(field.substr(colon + 1)));
    if (name == "content-length") {
      if (!number(value, 10, left))
        return "the answer has a bad Content-Length";
      sized = true;
    } else if (name == "transfer-encoding") {
      chunked = value.ends_with("chunked");
    } else if (name == "connection") {
      keep = value.find("close") == std::string::npos &&
             (keep || value.find("keep-alive") != std::string::npos);
    }
  }
  line.clear();
  if (status < 200) { // such as 100 Continue: the final response follows
    stage = Stage::Header;
    return "";
  }
  code = int(status);
  if (toHead || status == 204 || status == 304)
    stage = Stage::Done;
  else if (chunked)
    stage = Stage::ChunkSize;
  else if (sized)
    stage = left ? Stage::Sized : Stage::Done;
  else
    stage = Stage::UntilClose;
  return "";
}

/// Appends bytes to `line` up to a line feed. Returns true when the line is complete (without its
/// end).
bool ResponseParser::takeLine(std::string_view &bytes) {
  const size_t end = bytes.find('\n');
  line += bytes.substr(0, end);
  bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  if (end == std::string_view::npos)
    return false;
  if (line.ends_with('\r'))
    line.pop_back();
  return true;
}

std::string ResponseParser::put(std::string_view bytes,
                                const std::function<void(std::string_view)> &body) {
  nothingYet = nothingYet && bytes.empty();
  while (!bytes.empty())
    switch (stage) {
    case Stage::Header: {
      const size_t before = line.size() > 3 ? line.size() - 3 : 0, had = line.size();
      line += bytes.substr(0, kMostHeader + 1 - std::min(kMostHeader, had));
      size_t end = line.find("\r\n\r\n", before), marks = 4;
      if (end == std::string::npos)
        end = line.find("\n\n", before), marks = 2;
      if (end == std::string::npos) {
        if (line.size() > kMostHeader)
          return "the answer's header is longer than 64 KiB";
        return "";
      }
      bytes.remove_prefix(end + marks - had);
      line.resize(end);
      if (std::string wrong = readHeader(); !wrong.empty())
        return wrong;
      break;
    }
    case Stage::Sized:
    case Stage::ChunkData: {
      const auto take = size_t(std::min<uint64_t>(left, bytes.size()));
      left -= take;
      if (left == 0)
        stage = stage == Stage::Sized ? Stage::Done : Stage::ChunkEnd;
      body(bytes.substr(0, take));
      bytes.remove_prefix(take);
      break;
    }
    case Stage::ChunkSize:
    case Stage::ChunkEnd:
    case Stage::Trailer: {
      const bool whole = takeLine(bytes);
      if (line.size() > kMostLine)
        return "the answer's chunks cannot be read";
      if (!whole)
        return "";
      const std::string text = std::move(line);
      line.clear();
      if (stage == Stage::ChunkEnd) {
        if (!text.empty())
          return "the answer's chunks cannot be read";
        stage = Stage::ChunkSize;
      } else if (stage == Stage::Trailer) {
        if (text.empty())
          stage = Stage::Done;
      } else {
        if (!number(trimmed(std::string_view(text).substr(0, text.find(';'))), 16, left))
          return "the answer's chunks cannot be read";
        stage = left ? Stage::ChunkData : Stage::Trailer;
      }
      break;
    }
    case Stage::UntilClose:
      body(bytes);
      return "";
    case Stage::Done:
      return "the server sent more data than expected";
    }
  return "";
}

} // namespace ingot::http
