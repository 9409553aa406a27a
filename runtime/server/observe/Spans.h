//===- Spans.h - Requests as OpenTelemetry spans, in OTLP's JSON -----------===//
//
//   chat smollm2            SERVER     arrival ──────────────────────────────────▶ response out
//     queue                 INTERNAL   arrival ──▶ first step
//     prefill               INTERNAL               first step ──▶ first token
//     decode                INTERNAL                              first token ──▶ last token
//
// Names follow the semantic conventions for HTTP servers and for generative AI (gen_ai.*, status
// Development). Attributes without a standard name are under ingot.*. Spans never contain prompts
// or answers. OTLP's JSON writes ids in hexadecimal and 64-bit integers as strings.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/observe/RequestRecord.h"

#include <span>

namespace ingot::observe {

/// Returns a body for POST /v1/traces. Records without a sampled trace are left out.
std::string tracesJson(std::span<const std::shared_ptr<const RequestRecord>> records,
                       const std::string &version);

} // namespace ingot::observe
