//===- Progress.h - What the compiler is doing, for people ----------------===//
//
// On a terminal one line is redrawn per phase, with a bar where the amount is known;
// elsewhere each phase is a plain line when it is done. All on stderr: stdout is for results.
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

  /// Ends the phase before, if any.
  void phase(std::string name);
  /// Done so far, in bytes. Redraws at most 20 times a second.
  void update(uint64_t done, uint64_t total);
  /// A few words shown behind the phase's time ("272 tensors").
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
