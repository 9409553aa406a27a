//===- Console.h - Output to the user --------------------------------------===//
//
// Answers go to stdout, everything else to stderr. Colour and live lines appear only on a
// terminal, and the NO_COLOR convention (no-color.org) is respected.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Inspect.h"
#include "runtime/error/Error.h"

#include <string>
#include <string_view>

namespace ingot::cli {

bool isTerminal(int descriptor);
bool colourWanted(int descriptor);

/// Prints the error's three lines to stderr and returns its exit code.
int printError(const Error &error);

/// Writes a line to stderr.
void note(std::string_view line);

/// Writes text to stdout and flushes it, for streamed answers.
void emit(std::string_view text);

/// Ends a command's output. Returns `code`, or prints E0124 and returns 3 if some output to stdout
/// was lost. A closed pipe (`| head`) is not an error.
int finishOutput(int code);

/// Formats as printf does, to any length.
std::string formatted(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
using runtime::grouped;
/// Formats a number with its significant digits, at least three: "412.3".
std::string shortNumber(double value);

} // namespace ingot::cli
