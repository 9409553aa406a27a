//===- Console.h - What the user sees on a terminal ------------------------===//
//
// Answers go to stdout, everything else to stderr. Colour and live lines only on a
// terminal; the NO_COLOR convention (no-color.org) is kept.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Inspect.h"
#include "runtime/error/Error.h"

#include <string>
#include <string_view>

namespace ingot::cli {

bool isTerminal(int descriptor);
bool colourWanted(int descriptor);

/// Prints the three lines to stderr; the exit code.
int printError(const Error &error);

/// A line to stderr.
void note(std::string_view line);

/// Text to stdout, at once (streamed answers).
void emit(std::string_view text);

/// At the end of a command: `code`, or 3 after E0124 if what went to stdout was not all taken.
/// A reader that has left (`| head`) is no error.
int finishOutput(int code);

/// As printf would write it, whatever its length.
std::string formatted(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
using runtime::grouped;
/// "412.3" with the digits that matter: three at least.
std::string shortNumber(double value);

} // namespace ingot::cli
