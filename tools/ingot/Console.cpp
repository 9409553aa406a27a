#include "tools/ingot/Console.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace ingot::cli {

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
  std::fflush(stdout);
  std::fputs(text.c_str(), stderr);
  return static_cast<int>(error.exit);
}

void note(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

void emit(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3; at -= 3)
    digits.insert(at - 3, ",");
  return digits;
}

std::string shortNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.2f" : value < 1000 ? "%.1f" : "%.0f", value);
  return text;
}

} // namespace ingot::cli
