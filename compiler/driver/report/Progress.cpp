//===- Progress.cpp -------------------------------------------------------===//
#include "compiler/driver/report/Progress.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace ingot::compiler;

Progress::Progress(bool quiet)
    : quiet(quiet), terminal(isatty(STDERR_FILENO)), colour(terminal && !std::getenv("NO_COLOR")) {}

Progress::~Progress() { finish(); }

void Progress::phase(std::string name) {
  finish();
  current = std::move(name);
  text.clear();
  started = drawn = Clock::now();
  if (terminal)
    draw(current + " …", false);
}

void Progress::update(uint64_t bytes, uint64_t total) {
  auto now = Clock::now();
  if (!terminal || quiet || total == 0 || now - drawn < std::chrono::milliseconds(50))
    return;
  drawn = now;
  double seconds = std::chrono::duration<double>(now - started).count(),
         share = double(bytes) / total;
  std::string bar(24, ' ');
  for (size_t i = 0; i < bar.size() && i < share * bar.size(); ++i)
    bar[i] = '=';
  char line[160];
  std::snprintf(line, sizeof line, "%-10s [%s] %3.0f %%  %.0f MB/s  %.1f s left", current.c_str(),
                bar.c_str(), share * 100, bytes / 1e6 / seconds,
                share > 0 ? seconds / share - seconds : 0.0);
  draw(line, false);
}

void Progress::note(std::string words) { text = std::move(words); }

void Progress::finish() {
  if (current.empty())
    return;
  double seconds = std::chrono::duration<double>(Clock::now() - started).count();
  char line[160];
  std::snprintf(line, sizeof line, "%s%-10s%s %6.2f s  %s", colour ? "\033[1m" : "",
                current.c_str(), colour ? "\033[0m" : "", seconds, text.c_str());
  draw(line, true);
  done.push_back({std::move(current), std::move(text), seconds});
  current.clear();
}

void Progress::draw(const std::string &line, bool last) {
  if (!quiet)
    std::fprintf(stderr, terminal ? "\r\033[K%s%s" : "%s%s", line.c_str(), last ? "\n" : "");
}
