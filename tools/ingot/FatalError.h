//===- FatalError.h - Fatal-error handler ---------------------------------===//
#pragma once

namespace ingot::cli {

/// Installs the fatal-error handler. After this call, running out of memory (E0507) and the
/// truncation of a mapped file (E0388) end the process with three lines and exit code 3 instead of
/// a signal.
void installFatalErrorHandler();

} // namespace ingot::cli
