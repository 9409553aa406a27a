#include "tools/terminal/Console.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace ingot::cli {

/// errno of the first write to stdout that failed.
static int outputFailure = 0;

static void flushOutput() {
  if (std::fflush(stdout) != 0 && !outputFailure)
    outputFailure = errno;
}

bool isTerminal(int descriptor) { return isatty(descriptor) == 1; }

bool colourWanted(int descriptor) {
  const char *noColour = std::getenv("NO_COLOR");
  const char *term = std::getenv("TERM");
  return isTerminal(descriptor) && !(noColour && *noColour) && term &&
         std::string_view(term) != "dumb";
}

int printError(const Error &error) {
  std::string text = error.format();
  if (colourWanted(STDERR_FILENO)) {
    size_t head = text.find(':');
    text = "\033[1;31m" + text.substr(0, head) + "\033[0m" + text.substr(head);
  }
  flushOutput();
  std::fputs(text.c_str(), stderr);
  return static_cast<int>(error.exit);
}

void note(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

void emit(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && !outputFailure)
    outputFailure = errno;
  flushOutput();
}

int finishOutput(int code) {
  flushOutput();
  if (!outputFailure && std::ferror(stdout)) // a printf failed earlier
    outputFailure = EIO;
  if (!outputFailure || outputFailure == EPIPE || code != 0)
    return code;
  return printError({ExitCode::File, "E0124", "the answer could not be written to stdout",
                     std::strerror(outputFailure), "free some space, or redirect it elsewhere"});
}

std::string formatted(const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  std::string text(size_t(std::max(0, std::vsnprintf(nullptr, 0, pattern, arguments))), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  va_end(arguments);
  return text;
}

std::string shortNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.2f" : value < 1000 ? "%.1f" : "%.0f", value);
  return text;
}

} // namespace ingot::cli
