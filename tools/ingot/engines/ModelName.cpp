//===- ModelName.cpp - See ModelName.h ------------------------------------===//
#include "tools/ingot/engines/ModelName.h"

#include "tools/terminal/Console.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace ingot::cli {

namespace {

using Clock = std::chrono::steady_clock;

/// Formats a duration as "1:05" or "2:03:04".
std::string clockTime(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  return whole < 3600 ? formatted("%lld:%02lld", whole / 60, whole % 60)
                      : formatted("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
}

/// Shows the progress of a fetch on stderr.
class FetchProgress : public hub::Listener {
public:
  explicit FetchProgress(bool quiet) : quiet(quiet), terminal(isTerminal(STDERR_FILENO)) {}
  ~FetchProgress() override { clear(); }

  void say(const std::string &line) override {
    clear();
    if (!quiet)
      note(line);
  }
  void progress(const std::string &file, uint64_t done, uint64_t total, uint64_t fetched) override {
    const auto now = Clock::now();
    if (file != current) {
      current = file;
      started = drawn = now;
    }
    if (!terminal || quiet || now - drawn < std::chrono::milliseconds(100))
      return;
    drawn = now;
    const double seconds = std::chrono::duration<double>(now - started).count();
    const double rate = static_cast<double>(fetched) / seconds;
    const std::string left =
        rate > 0 ? ", " + clockTime(static_cast<double>(total - done) / rate) + " left" : "";
    std::fprintf(stderr, "\r\033[K%s  %s of %s, %.0f %%, %s/s%s", file.c_str(),
                 hub::readableBytes(done).c_str(), hub::readableBytes(total).c_str(),
                 100 * static_cast<double>(done) / static_cast<double>(total),
                 hub::readableBytes(static_cast<uint64_t>(rate)).c_str(), left.c_str());
    isDrawn = true;
  }
  void finished(const std::string &file, uint64_t bytes) override {
    const double seconds =
        file == current ? std::chrono::duration<double>(Clock::now() - started).count() : 0;
    say("fetched " + file + " (" + hub::readableBytes(bytes) + formatted(" in %.1f s)", seconds));
  }

private:
  void clear() {
    if (isDrawn)
      std::fputs("\r\033[K", stderr);
    isDrawn = false;
  }

  const bool quiet, terminal;
  bool isDrawn = false;
  std::string current;
  Clock::time_point started, drawn;
};

} // namespace

Result<std::string> checkpointOf(const std::string &model, bool quiet) {
  if (!hub::isReference(model))
    return model;
  auto reference = hub::parseReference(model);
  if (!reference)
    return reference.error();
  auto settings = hub::Settings::fromEnvironment();
  if (!settings)
    return settings.error();
  FetchProgress progress(quiet);
  return hub::fetchModel(*reference, *settings, progress);
}

bool isModelName(const std::string &model) { return hub::isReference(model); }

Result<hub::Outline> outlineOf(const std::string &model, bool quiet) {
  auto reference = hub::parseReference(model);
  if (!reference)
    return reference.error();
  auto settings = hub::Settings::fromEnvironment();
  if (!settings)
    return settings.error();
  if (auto local = hub::localModel(*reference, *settings))
    return hub::Outline{*local, {}};
  FetchProgress progress(quiet);
  return hub::fetchOutline(*reference, *settings, progress);
}

Result<std::vector<std::string>> withCheckpoint(int argc, const char *const *argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  const bool quiet = std::ranges::any_of(arguments, [](const std::string &argument) {
    return argument == "--quiet" || argument == "--json";
  });
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i - 1] == "-o")
      continue;
    auto path = checkpointOf(arguments[i], quiet);
    if (!path)
      return path.error();
    arguments[i] = std::move(*path);
  }
  return arguments;
}

} // namespace ingot::cli
