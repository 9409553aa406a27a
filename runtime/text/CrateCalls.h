//===- CrateCalls.h - Helpers shared by calls of the Rust crate -----------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/text/TextAbi.h"

#include <string>
#include <utility>

namespace ingot::text {

/// Returns a sink that appends to `text`. The text must live until the called function has returned.
inline IngotTextOutput appendTo(std::string &text) {
  return {&text, [](void *context, const uint8_t *data, size_t size) {
            static_cast<std::string *>(context)->append(reinterpret_cast<const char *>(data), size);
          }};
}

/// Returns E0690, for INGOT_TEXT_PANIC and for statuses that should be impossible.
inline Error crateFailed(std::string why) {
  return {ExitCode::Internal, "E0690", "the text library failed", std::move(why),
          "report it: this is a bug in ingot"};
}

} // namespace ingot::text
