//===- Progress.h - Progress display of the compiler ----------------------===//
//
// On a terminal one line per phase is redrawn, with a bar if the total is known. Elsewhere
// each phase prints a plain line when it is done. All output goes to stderr, because stdout
// is for results.
//===----------------------------------------------------------------------===//
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::compiler {

class Progress {
public:
  explicit Progress(bool quiet);
  ~Progress();

  /// Starts a phase and ends the previous one, if any.
  void phase(std::string name);
  /// Reports the bytes done so far. Redraws at most 20 times per second.
  void update(uint64_t done, uint64_t total);
  /// Sets a short text to show after the phase's time ("272 tensors").
  void note(std::string text);
  void finish();

  struct Phase {
    std::string name, note;
    double seconds;
  };
  const std::vector<Phase> &phases() const { return done; }

private:
  using Clock = std::chrono::steady_clock;
  void draw(const std::string &line, bool last);

  bool quiet, terminal, colour;
  std::string current, text;
  Clock::time_point started, drawn;
  std::vector<Phase> done;
};

} // namespace ingot::compiler
