//===- Trials.h - Things that may end the process, one after the other -----===//
//
// A GPU that has failed once runs nothing more in that process, and a kernel that waits for what
// never comes waits for ever. So trials run in a child: the parent opens no device, reads what the
// child finds as it finds it, and marks the trial that a child died in or did not end; the next
// child goes on with the trial behind it. A device is opened once for each child, not for each
// trial.
//
//   parent   fork ─────────────────────────────── died in 7 ── fork ────────────── done
//   child          open | 0 | 1 | … | 7  E0718               open | 8 | 9 | …
//
// Standard output gets a line of JSON for each result, flushed.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ingot::test {

/// What a result says of the thing tried.
enum class Found : char { Equal = '=', Near = '+', Wrong = '-' };

/// Prints a result; JSON without a line break. In the child.
using Print = std::function<void(Found, const std::string &json)>;

struct Trial {
  std::string name;
  uint64_t launches; ///< how many results are to come
  /// In the child. An error ends the child: the device may be of no more use.
  std::function<Result<void>(const Print &print)> run;
};

struct Trials {
  std::string kind;    ///< key of a trial's name where it is lost: "symbol"
  double limit = 20;   ///< seconds that a trial may take
  double opening = 60; ///< and opening the device
  /// In each child, first. The device's name. An error of the first ends everything.
  std::function<Result<std::string>()> open;
  std::vector<Trial> all;
};

struct Tally {
  std::string device;
  uint64_t launches = 0, equal = 0, wrong = 0, lost = 0; ///< results; lost: trials without an end
};

/// Runs them. A lost trial prints {KIND: name, "launches": …, "error": "killed after 20 s"}.
Result<Tally> runTrials(const Trials &trials);

} // namespace ingot::test
