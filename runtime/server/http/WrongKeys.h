//===- WrongKeys.h - How long the answer to a wrong key waits ---------------===//
//
// Who tries keys one after the other gets answers ever more slowly, so that a minute of guessing is
// some thirty keys and as many lines of a log. It is counted by address (of IPv6 by network, which
// is what one customer has); right keys, and requests without one, never wait. The table is small:
// whoever has more addresses than it has rows is not slowed by this.
//===----------------------------------------------------------------------===//
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

namespace ingot::http {

class WrongKeys {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kFree = 5; ///< wrong keys that are answered at once: somebody mistypes
  static constexpr size_t kMostAddresses = 1024;
  static constexpr std::chrono::seconds kForgottenAfter{60};

  /// `first`: the wait after kFree wrong keys, doubled with each further one up to `most`; 0: none.
  WrongKeys(std::chrono::milliseconds first, std::chrono::milliseconds most)
      : first(first), most(most) {}
  /// Counts one of `client`, an IP address; how long its answer waits.
  std::chrono::milliseconds note(const std::string &client, Clock::time_point now);
  size_t addresses() const { return seen.size(); }

private:
  struct Entry {
    int count = 0;
    Clock::time_point last{};
  };
  const std::chrono::milliseconds first, most;
  std::unordered_map<std::string, Entry> seen;
};

} // namespace ingot::http
