//===- WrongKeys.h - Delays answers to repeated wrong keys ------------------===//
//
// A client that tries one key after another gets answers ever more slowly, so a minute of guessing
// is limited to some thirty keys and as many log lines. Wrong keys are counted by address (for IPv6
// by network, since one customer has a whole network). Requests with a right key or without a key
// are never delayed. The table is small, so a client with more addresses than the table has rows is
// not slowed down.
//===----------------------------------------------------------------------===//
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

namespace ingot::http {

class WrongKeys {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kFree = 5; ///< this many wrong keys, as from typing errors, are not delayed
  static constexpr size_t kMostAddresses = 1024;
  static constexpr std::chrono::seconds kForgottenAfter{60};

  /// `first`: the delay after kFree wrong keys; 0: no delays. Each further wrong key doubles it, up to
  /// `most`.
  WrongKeys(std::chrono::milliseconds first, std::chrono::milliseconds most)
      : first(first), most(most) {}
  /// Counts a wrong key from `client`, an IP address. Returns the delay of its answer.
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
