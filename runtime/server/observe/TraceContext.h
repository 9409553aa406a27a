//===- TraceContext.h - W3C trace context ----------------------------------===//
//
// https://www.w3.org/TR/trace-context/: `traceparent: 00-<trace, 32 hex>-<parent, 16 hex>-<flags>`.
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingot::observe {

/// The ids are lower-case hexadecimal. An empty id means that there is none.
struct TraceContext {
  std::string traceId, parentId, spanId;
  bool sampled = false;

  /// Returns the traceparent header that the server sends.
  std::string header() const;
};

/// Parses the caller's context; spanId stays empty. Returns nullopt if the header is invalid. Headers
/// of newer versions may have additional fields.
std::optional<TraceContext> parseTraceparent(std::string_view header);

/// Creates a span in the caller's trace, or the first span of a new, sampled trace.
TraceContext newSpan(std::optional<TraceContext> caller);

/// Returns random hexadecimal digits, not all zero.
std::string randomHex(int digits);

} // namespace ingot::observe
