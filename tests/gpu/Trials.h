//===- Trials.h - Runs tests that may kill their process, one by one -------===//
//
// Once a GPU has failed, a process can run nothing more on it, and a kernel that waits for an event
// that never comes waits for ever. So trials run in a child process. The parent opens no device,
// reads the child's results as they appear, and marks the trial in which a child died or which it
// did not end; the next child continues with the trial after it. A device is opened once per child,
// not once per trial.
//
//   parent   fork ─────────────────────────────── died in 7 ── fork ────────────── done
//   child          open | 0 | 1 | … | 7  E0718               open | 8 | 9 | …
//
// Each result is a line of JSON on standard output, flushed.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ingot::test {

/// The verdict of a result.
enum class Found : char { Equal = '=', Near = '+', Wrong = '-' };

/// Prints a result: JSON without a line break. Called in the child.
using Print = std::function<void(Found, const std::string &json)>;

struct Trial {
  std::string name;
  uint64_t launches; ///< number of expected results
  /// Runs in the child. An error ends the child, because the device may be unusable.
  std::function<Result<void>(const Print &print)> run;
};

struct Trials {
  std::string kind;    ///< the key of a lost trial's name: "symbol"
  double limit = 20;   ///< seconds that a trial may take
  double opening = 60; ///< seconds that opening the device may take
  /// Called first in each child; returns the device's name. An error in the first child ends
  /// everything.
  std::function<Result<std::string>()> open;
  std::vector<Trial> all;
};

struct Tally {
  std::string device;
  uint64_t launches = 0, equal = 0, wrong = 0, lost = 0; ///< results; lost: trials that did not end
};

/// Runs all trials. A lost trial prints {KIND: name, "launches": …, "error": "killed after 20 s"}.
Result<Tally> runTrials(const Trials &trials);

} // namespace ingot::test
