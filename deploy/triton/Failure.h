//===- Failure.h - Errors, as reported to Triton -----------------------------===//
//
// A Triton error is a code and a text. The text is Ingot's, in three lines: what failed, why, and
// how to fix it. The backend's own errors are numbered from E0950; errors of libingot keep their
// numbers.
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
/// Empty on success.
using Outcome = std::optional<Failure>;

/// `why` and `fix` may be empty.
Failure failure(TRITONSERVER_Error_Code code, const char *number, const std::string &what,
                const std::string &why, const std::string &fix);
/// An error of the client.
inline Failure badRequest(const char *number, const std::string &what, const std::string &why,
                          const std::string &fix) {
  return failure(TRITONSERVER_ERROR_INVALID_ARG, number, what, why, fix);
}

/// Converts a libingot error to Triton's code for it: a full queue becomes UNAVAILABLE, a bad
/// request INVALID_ARG.
Failure failureOf(const ingot_error *error);

struct ErrorOwner {
  void operator()(TRITONSERVER_Error *error) const { TRITONSERVER_ErrorDelete(error); }
  void operator()(ingot_error *error) const { ingot_error_free(error); }
};
using ErrorPtr = std::unique_ptr<TRITONSERVER_Error, ErrorOwner>;
using IngotErrorPtr = std::unique_ptr<ingot_error, ErrorOwner>;

/// Returns an error for Triton to own; null on success.
TRITONSERVER_Error *give(const Outcome &outcome);
/// Converts and deletes an error that a call of Triton returned.
Outcome taken(TRITONSERVER_Error *error);
/// Logs and deletes the error of a call that can fail only through a fault of the server.
void expectFine(TRITONSERVER_Error *error, const char *call);

void log(TRITONSERVER_LogLevel level, const std::string &text);

} // namespace ingot::triton
