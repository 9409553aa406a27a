//===- Stream.cpp - Streams text without partial characters --------------===//

#include "runtime/text/Json.h"
#include "runtime/text/Text.h"

#include <algorithm>

namespace ingot::text {

namespace {

/// The first unit of a text: a character, an invalid part, or a character that may still be completed
/// (Unicode 15, table 3-7).
struct Step {
  size_t size;
  bool valid;
  bool unfinished;
};

Step step(std::string_view bytes, size_t at) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80)
    return {1, true, false};
  size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                  : lead >= 0xE0 && lead <= 0xEF ? 3
                  : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                 : 0;
  if (length == 0)
    return {1, false, false};
  for (size_t i = 1; i < length; ++i) {
    if (at + i == bytes.size())
      return {i, false, true};
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1) {
      low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
      high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    }
    if (byte(i) < low || byte(i) > high)
      return {i, false, false};
  }
  return {length, true, false};
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Moves the decided part from the front of `bytes` to the result. Bytes that may still become a
/// character stay, unless this is the end.
std::string takeCharacters(std::string &bytes, bool end) {
  std::string text;
  size_t at = 0;
  while (at < bytes.size()) {
    Step next = step(bytes, at);
    if (next.unfinished && !end)
      break;
    text += next.valid ? std::string_view(bytes).substr(at, next.size) : kReplacement;
    at += next.size;
  }
  bytes.erase(0, at);
  return text;
}

} // namespace

std::string replaceInvalidUtf8(std::string_view bytes) {
  std::string rest(bytes);
  return takeCharacters(rest, true);
}

void appendJsonString(std::string &out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (size_t at = 0; at < text.size();) {
    Step next = step(text, at);
    auto c = static_cast<unsigned char>(text[at]);
    if (!next.valid) {
      out += kReplacement;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += text.substr(at, next.size);
    }
    at += next.size;
  }
  out += '"';
}

std::string jsonString(std::string_view text) {
  std::string out;
  appendJsonString(out, text);
  return out;
}

StreamDecoder::StreamDecoder(const Tokenizer &tokenizer, bool skipSpecial, bool continuation)
    : tokenizer(tokenizer), skipSpecial(skipSpecial),
      dropSpace(!continuation && tokenizer.dropsLeadingSpace()) {}

std::string StreamDecoder::push(int32_t id) {
  if (skipSpecial && tokenizer.isSpecial(id))
    return {};
  std::string_view bytes = tokenizer.tokenBytes(id);
  // The space that the tokenizer inserted at the start of a text is removed once.
  if (dropSpace && !bytes.empty()) {
    dropSpace = false;
    if (bytes.front() == ' ')
      bytes.remove_prefix(1);
  }
  held += bytes;
  return takeCharacters(held, false);
}

std::string StreamDecoder::flush() { return takeCharacters(held, true); }

StopMatcher::StopMatcher(std::vector<std::string> given) : stops(std::move(given)) {
  std::erase_if(stops, [](const std::string &stop) { return stop.empty(); });
}

std::string StopMatcher::push(std::string_view piece) {
  if (matched)
    return {};
  held += piece;

  // The stop string that is complete first ends the text. If two are complete at once, the longer one
  // does. The result therefore does not depend on how the text was cut into pieces.
  size_t first = std::string::npos, end = std::string::npos;
  for (const std::string &stop : stops) {
    size_t at = held.find(stop);
    if (at == std::string::npos || at + stop.size() > end ||
        (at + stop.size() == end && at >= first))
      continue;
    first = at;
    end = at + stop.size();
    found = stop;
  }
  if (first != std::string::npos) {
    matched = true;
    std::string text = held.substr(0, first);
    held.clear();
    return text;
  }

  // Hold back the longest suffix of the text that could be the start of a stop string.
  size_t keep = 0;
  for (const std::string &stop : stops) {
    for (size_t n = std::min(stop.size() - 1, held.size()); n > keep; --n) {
      if (std::string_view(held).substr(held.size() - n) == std::string_view(stop).substr(0, n)) {
        keep = n;
        break;
      }
    }
  }
  std::string text = held.substr(0, held.size() - keep);
  held.erase(0, text.size());
  return text;
}

std::string StopMatcher::flush() {
  std::string text;
  if (!matched)
    text.swap(held);
  return text;
}

} // namespace ingot::text
