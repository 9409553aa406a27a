//===- TraceContext.h - W3C trace context ----------------------------------===//
//
// https://www.w3.org/TR/trace-context/: `traceparent: 00-<trace, 32 hex>-<parent, 16 hex>-<flags>`.
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingot::observe {

/// Lower-case hexadecimal; empty: there is none.
struct TraceContext {
  std::string traceId, parentId, spanId;
  bool sampled = false;

  /// What we answer, and would send on.
  std::string header() const;
};

/// The caller's context, without a span of ours. Nothing of a header that breaks the rules (a newer
/// version may say more than we know).
std::optional<TraceContext> parseTraceparent(std::string_view header);

/// A span in the caller's trace, or the first of a new one, which is sampled.
TraceContext newSpan(std::optional<TraceContext> caller);

/// Random hexadecimal digits, not all of them zero.
std::string randomHex(int digits);

} // namespace ingot::observe
