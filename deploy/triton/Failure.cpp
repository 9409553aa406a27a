//===- Failure.cpp - Errors between libingot and Triton ----------------------===//
#include "deploy/triton/Failure.h"

#include <string_view>

namespace ingot::triton {

namespace {
// Errors of libingot for which Triton has an error code of its own (runtime/error/NamedCodes.h).
constexpr std::string_view kNoEngineFile = "E0301", kQueueFull = "E0560", kShuttingDown = "E0561";
} // namespace

Failure failure(TRITONSERVER_Error_Code code, const char *number, const std::string &what,
                const std::string &why, const std::string &fix) {
  std::string text = std::string("error[") + number + "]: " + what;
  for (const std::string &line : {why, fix})
    if (!line.empty())
      text += "\n  " + line;
  return {code, text};
}

Failure failureOf(const ingot_error *error) {
  std::string text = ingot_error_text(error);
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  const std::string_view number = ingot_error_code(error);
  switch (ingot_error_status(error)) {
  case INGOT_USAGE:
    return {TRITONSERVER_ERROR_INVALID_ARG, text};
  case INGOT_FILE: // for a loaded model: a value that does not fit this machine or its limits
    return {number == kNoEngineFile ? TRITONSERVER_ERROR_NOT_FOUND : TRITONSERVER_ERROR_UNSUPPORTED,
            text};
  case INGOT_DEVICE:
    return {number == kQueueFull || number == kShuttingDown ? TRITONSERVER_ERROR_UNAVAILABLE
                                                            : TRITONSERVER_ERROR_INTERNAL,
            text};
  default:
    return {TRITONSERVER_ERROR_INTERNAL, text};
  }
}

TRITONSERVER_Error *give(const Outcome &outcome) {
  return outcome ? TRITONSERVER_ErrorNew(outcome->code, outcome->text.c_str()) : nullptr;
}

Outcome taken(TRITONSERVER_Error *error) {
  if (!error)
    return {};
  const ErrorPtr owned(error);
  return Failure{TRITONSERVER_ErrorCode(error), TRITONSERVER_ErrorMessage(error)};
}

void expectFine(TRITONSERVER_Error *error, const char *call) {
  if (Outcome failed = taken(error))
    log(TRITONSERVER_LOG_ERROR, std::string("ingot: ") + call + ": " + failed->text);
}

void log(TRITONSERVER_LogLevel level, const std::string &text) {
  ErrorPtr ignored(TRITONSERVER_LogMessage(level, "ingot", 0, text.c_str())); // cannot be reported
}

} // namespace ingot::triton
