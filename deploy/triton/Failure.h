//===- Failure.h - What goes wrong, as Triton is told of it ------------------===//
//
// Triton's errors are a code and a text. The text is Ingot's, in three lines: what, why, and what to
// do. Codes are E0950 and on for what this backend finds, and those of libingot for what it says.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/TritonApi.h"

#include <ingot.h>

#include <memory>
#include <optional>
#include <string>

namespace ingot::triton {

struct Failure {
  TRITONSERVER_Error_Code code;
  std::string text;
};
/// Empty: it went well.
using Outcome = std::optional<Failure>;

/// `why` and `fix` may be empty.
Failure failure(TRITONSERVER_Error_Code code, const char *number, const std::string &what,
                const std::string &why, const std::string &fix);
/// What a client got wrong.
inline Failure badRequest(const char *number, const std::string &what, const std::string &why,
                          const std::string &fix) {
  return failure(TRITONSERVER_ERROR_INVALID_ARG, number, what, why, fix);
}

/// Of an error of libingot, by its kind: a full queue is UNAVAILABLE, a bad request INVALID_ARG.
Failure failureOf(const ingot_error *error);

struct ErrorOwner {
  void operator()(TRITONSERVER_Error *error) const { TRITONSERVER_ErrorDelete(error); }
  void operator()(ingot_error *error) const { ingot_error_free(error); }
};
using ErrorPtr = std::unique_ptr<TRITONSERVER_Error, ErrorOwner>;
using IngotErrorPtr = std::unique_ptr<ingot_error, ErrorOwner>;

/// For Triton to keep.
TRITONSERVER_Error *give(const Outcome &outcome);
/// What a call of Triton returned; deletes it.
Outcome taken(TRITONSERVER_Error *error);
/// Of a call that can fail only where the server is at fault; the log says so.
void expectFine(TRITONSERVER_Error *error, const char *call);

void log(TRITONSERVER_LogLevel level, const std::string &text);

} // namespace ingot::triton
