//===- ReadAhead.h - How kernels ask for the weights that come next --------===//
//
// A step of one token waits for weights. CPUs differ in what helps: one line a kilobyte and their own prefetchers, or
// each line, some KiB ahead (docs/cpu.md). A kernel has both ways, and this picks one for each kernel by what it takes.
// The first steps of one token are trials, which are steps as any other: in each, half of a kernel's launches go one
// way and half the other, and in the next the other way round. What a part of a launch took at best counts, since
// others on the machine can only slow it down. Bits do not depend on it.
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ingot::cpu {

class ReadAhead {
public:
  /// Bytes ahead that kernels take (KernelAbi.h): one line a kilobyte, and each line.
  static constexpr std::array<int64_t, 2> kWays = {0, 8192};
  /// Steps of up to so many wait for weights as those of one do, and take what was found for one.
  static constexpr int64_t kFewTokens = 3;
  /// An even number, of which the first may find pages that have yet to come.
  static constexpr int kTrials = 16;
  /// What is no trial.
  static constexpr int kNoTrial = -1;

  /// `kernels`: of each launch of the program; `parts`: the most that a launch is cut into.
  ReadAhead(std::vector<uint32_t> kernels, size_t parts);
  /// For other launches of the same kernels, that another has chosen for, or not yet: nothing is tried.
  ReadAhead(std::vector<uint32_t> kernels, const ReadAhead &known)
      : kernels(std::move(kernels)), chosen(known.chosen) {}

  /// The number of the trial that a step of so many tokens is. Between steps only.
  int begin(int64_t tokens);
  /// Bytes ahead for a launch of a step of so many tokens.
  int64_t bytes(int trial, int64_t tokens, size_t launch) const;
  /// A part of a launch took so long in a trial. Parts of different numbers may come from different threads.
  void took(int trial, size_t launch, size_t part, uint64_t nanoseconds);

  /// Whether steps of one token go on trying.
  bool tries() const { return !best.empty(); }
  /// Bytes ahead of a kernel; while it is tried, those of the first way.
  int64_t bytesOf(uint32_t kernel) const { return chosen[kernel]; }

private:
  using Times = std::array<uint64_t, kWays.size()>;

  static size_t wayOf(int trial, size_t turn) { return (size_t(trial) + turn) % kWays.size(); }
  void decide();

  std::vector<uint32_t> kernels;
  std::vector<uint32_t> turns; ///< of each launch: the how manieth of its kernel it is
  int trials = 0;
  std::vector<int64_t> chosen; ///< by kernel
  /// [part][launch], nanoseconds; 0: none. Empty: nothing is tried.
  std::vector<Times> best;
  std::vector<Times> sums; ///< by kernel; here, since a step allocates nothing
};

} // namespace ingot::cpu
