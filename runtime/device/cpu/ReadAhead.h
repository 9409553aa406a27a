//===- ReadAhead.h - Tunes how kernels prefetch their next weights ---------===//
//
// A step of one token is bound by reading weights. CPUs differ in what helps: prefetching one line per
// kilobyte and relying on the hardware prefetchers, or prefetching each line, some KiB ahead (docs/cpu.md). A
// kernel supports both ways, and this class picks one for each kernel by measurement. The first steps of one
// token are trials, which are otherwise ordinary steps: in each, half of a kernel's launches use one way and
// half the other, and in the next step they are swapped. The best time of each part of a launch counts, since
// other load on the machine can only slow it down. The choice does not change any result bit.
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
  /// The prefetch distances in bytes that kernels support (KernelAbi.h): one line per kilobyte, and
  /// each line.
  static constexpr std::array<int64_t, 2> kWays = {0, 8192};
  /// Steps of up to this many tokens are bound by reading weights, as one-token steps are. They use the
  /// choice made for one token.
  static constexpr int64_t kFewTokens = 3;
  /// Number of trials. It is even, so that each launch uses both ways equally often, and more than
  /// two, since the first trial may find pages that have not been brought in yet.
  static constexpr int kTrials = 16;
  /// The trial number of a step that is not a trial.
  static constexpr int kNoTrial = -1;

  /// `kernels`: kernel of each launch of the program; `parts`: the maximum number of parts of a
  /// launch.
  ReadAhead(std::vector<uint32_t> kernels, size_t parts);
  /// For other launches of the same kernels: runs no trials and uses the choices of `known`, which are the
  /// defaults while its trials last.
  ReadAhead(std::vector<uint32_t> kernels, const ReadAhead &known)
      : kernels(std::move(kernels)), chosen(known.chosen) {}

  /// Returns the trial number of a step of `tokens` tokens. Must be called between steps.
  int begin(int64_t tokens);
  /// Prefetch distance in bytes for a launch of a step of `tokens` tokens.
  int64_t bytes(int trial, int64_t tokens, size_t launch) const;
  /// Records the time that a part of a launch took in a trial. Different parts may be reported by different
  /// threads.
  void took(int trial, size_t launch, size_t part, uint64_t nanoseconds);

  /// Returns whether one-token steps are still trials.
  bool tries() const { return !best.empty(); }
  /// Prefetch distance in bytes of a kernel; during trials, kWays.front().
  int64_t bytesOf(uint32_t kernel) const { return chosen[kernel]; }

private:
  using Times = std::array<uint64_t, kWays.size()>;

  static size_t wayOf(int trial, size_t turn) { return (size_t(trial) + turn) % kWays.size(); }
  void decide();

  std::vector<uint32_t> kernels;
  std::vector<uint32_t> turns; ///< for each launch, its index among the launches of its kernel
  int trials = 0;
  std::vector<int64_t> chosen; ///< by kernel
  /// [part][launch], nanoseconds; 0: not measured. Empty: there are no trials.
  std::vector<Times> best;
  std::vector<Times> sums; ///< by kernel; a member, since a step allocates nothing
};

} // namespace ingot::cpu
