//===- TraceContext.cpp - See TraceContext.h --------------------------------===//
#include "runtime/server/observe/TraceContext.h"

#include <algorithm>
#include <random>

namespace ingot::observe {

namespace {

bool isHex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool isZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

} // namespace

std::string TraceContext::header() const {
  return "00-" + traceId + "-" + spanId + (sampled ? "-01" : "-00");
}

std::optional<TraceContext> parseTraceparent(std::string_view header) {
  constexpr size_t kLength = 55;
  if (header.size() < kLength || header[2] != '-' || header[35] != '-' || header[52] != '-')
    return std::nullopt;
  const std::string_view version = header.substr(0, 2), trace = header.substr(3, 32),
                         parent = header.substr(36, 16), flags = header.substr(53, 2);
  if (!isHex(version) || version == "ff" || !isHex(trace) || isZero(trace) || !isHex(parent) ||
      isZero(parent) || !isHex(flags))
    return std::nullopt;
  if (header.size() > kLength && (version == "00" || header[kLength] != '-'))
    return std::nullopt;
  TraceContext context;
  context.traceId = trace;
  context.parentId = parent;
  const char last = flags[1];
  context.sampled = ((last <= '9' ? last - '0' : last - 'a' + 10) & 1) != 0;
  return context;
}

TraceContext newSpan(std::optional<TraceContext> caller) {
  TraceContext context;
  if (caller)
    context = std::move(*caller);
  else
    context.traceId = randomHex(32), context.sampled = true;
  context.spanId = randomHex(16);
  return context;
}

std::string randomHex(int digits) {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  do {
    text.clear();
    for (uint64_t bits = 0; int(text.size()) < digits; bits >>= 4) {
      if (text.size() % 16 == 0)
        bits = generator();
      text += kDigits[bits & 15];
    }
  } while (isZero(text));
  return text;
}

} // namespace ingot::observe
