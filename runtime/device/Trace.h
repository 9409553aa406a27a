//===- Trace.h - Records which launch ran when and on which thread --------===//
//
// When tracing is off, it costs a step nothing (the executor runs a different loop). When it is on,
// every thread writes two timestamps per launch into preallocated memory; between steps they are
// added to the kernels' sums and, for a trace, kept as events. The file has Chrome's trace format:
// chrome://tracing and Perfetto show one row per thread, and the gaps are the time that threads
// spend waiting.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Nanoseconds of the steady clock.
uint64_t nowNanoseconds();

struct Stamp {
  uint64_t begin = 0, end = 0; ///< equal if the thread had no items
};

class Trace {
public:
  struct LaunchInfo {
    uint32_t kernel;
    int32_t layer; ///< -1: none
  };

  /// `keepEvents`: keep events for writeChromeTrace(); otherwise only the sums are kept.
  Trace(std::vector<std::string> kernelNames, std::vector<LaunchInfo> launches, int threads,
        bool keepEvents);

  Stamp *stampsOf(int thread) {
    assert(thread >= 0 && thread < threads && "a thread without stamps");
    return stamps.data() + size_t(thread) * launches.size();
  }
  /// Collects the stamps after a step. `tokens`: number of tokens in the step's batch.
  void collect(int64_t tokens);

  /// The number of a layer's tokens that were routed to each expert.
  struct ExpertLoad {
    int32_t layer;
    std::vector<uint64_t> tokens;
  };
  /// Declares that the launch groups routes (abi/Routes.h) to `experts` experts. `routes`: address of the
  /// routes; null if they are on a device, in which case the caller uses countSegments.
  void watchRoutes(size_t launch, const std::byte *routes, uint32_t experts, uint32_t used);
  /// Counts the routes that a launch has produced, if it is watched. The thread that ran its only
  /// work item calls this.
  void countRoutes(size_t launch, int64_t tokens);
  /// Does the same as countRoutes(), from a copy of the routes that begins at `count` (abi/Routes.h). The launch must
  /// be watched.
  void countSegments(size_t launch, const std::byte *fromCount);
  const std::vector<ExpertLoad> &expertLoads() const { return loads; }

  struct KernelTime {
    double seconds = 0; ///< summed over threads
    uint64_t launches = 0;
  };
  const std::vector<KernelTime> &kernelTimes() const { return times; }
  const std::vector<std::string> &kernelNames() const { return names; }

  /// E0703 (exit 4) if the file cannot be written.
  Result<void> writeChromeTrace(const std::string &path) const;

private:
  struct Event {
    uint64_t begin;
    uint32_t duration; ///< ns
    uint32_t launch;
    int32_t thread;
    uint32_t step;
  };
  static constexpr size_t kMostEvents = size_t(1) << 22; ///< 128 MiB; later events are only counted

  size_t watchedAt(size_t launch) const; ///< index in `watched`; its size if the launch is not
                                         ///< watched

  struct Watched {
    size_t launch;
    const std::byte *routes;
    uint32_t used;
    size_t load; ///< index in `loads`
  };
  std::vector<Watched> watched;  ///< in increasing order of launch
  std::vector<ExpertLoad> loads; ///< one for each watched layer

  std::vector<std::string> names;
  std::vector<LaunchInfo> launches;
  int threads;
  bool keepEvents;
  std::vector<Stamp> stamps; ///< [threads][launches]
  std::vector<Event> events;
  std::vector<int64_t> stepTokens;
  std::vector<KernelTime> times;
  uint64_t dropped = 0;
};

} // namespace ingot::runtime
