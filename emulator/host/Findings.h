//===- Findings.h - Collects the errors of kernels -------------------------===//
#pragma once

#include "emulator/host/Emulator.h"

#include <mutex>

namespace ingot::emulator {

/// A place in a kernel: the line that called an operation or, for a plain load or store, the code address. It
/// has 64 bits because every word of shared memory stores one.
class Where {
public:
  Where() = default;
  explicit Where(emu::Site site)
      : bits(kSite | uint64_t(site.line & 0xffff) << 47 | (uint64_t(site.file) & kPointer)) {}
  explicit Where(void *returnAddress) : bits(uint64_t(returnAddress)) {}

  bool operator==(const Where &) const = default;
  Location resolve() const;

private:
  static constexpr uint64_t kSite = 1ull << 63, kPointer = (1ull << 47) - 1;
  uint64_t bits = 0;
};

/// Shared by the workers of a device.
class FindingList {
public:
  void add(Rule rule, const std::string &kernel, std::string text, Where where, Where other);
  /// Resolves code addresses with one child process each, so it must not run while kernels run.
  std::vector<Finding> resolve() const;
  size_t size() const;
  void clear();

private:
  struct Raw {
    Rule rule;
    std::string kernel, text;
    Where where, other;
  };
  mutable std::mutex mutex;
  std::vector<Raw> list;
};

} // namespace ingot::emulator
