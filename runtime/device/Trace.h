//===- Trace.h - Which launch ran when on which thread --------------------===//
//
// Off, it costs a step nothing (the executor runs another loop). On, every
// thread writes two time stamps per launch into memory that is already there;
// between steps they are added to the kernels' sums and, for a trace, kept as
// events. The file is Chrome's trace format: chrome://tracing or Perfetto show
// one row per thread, and the gaps are what threads spend waiting.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

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

  /// `keepEvents`: for writeChromeTrace(); else only the sums are kept.
  Trace(std::vector<std::string> kernelNames, std::vector<LaunchInfo> launches, int threads,
        bool keepEvents);

  Stamp *stampsOf(int thread) { return stamps.data() + size_t(thread) * launches.size(); }
  /// After a step: takes the stamps over. `tokens`: of the step's batch.
  void collect(int64_t tokens);

  /// How many of a layer's tokens have gone to each expert.
  struct ExpertLoad {
    int32_t layer;
    std::vector<uint64_t> tokens;
  };
  /// The launch groups routes (abi/Routes.h) to so many experts. `routes`: where they lie; null: on a device, and who
  /// watches has countSegments.
  void watchRoutes(size_t launch, const std::byte *routes, uint32_t experts, uint32_t used);
  /// Counts what a launch has left, if it is watched; by who ran its only work item.
  void countRoutes(size_t launch, int64_t tokens);
  /// The same of a copy of its routes from their count on. The launch is watched.
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
  static constexpr size_t kMostEvents = size_t(1) << 22; ///< 128 MiB; later ones are counted only

  size_t watchedAt(size_t launch) const; ///< of `watched`, whose size it is of others

  struct Watched {
    size_t launch;
    const std::byte *routes;
    uint32_t used;
    size_t load; ///< of `loads`
  };
  std::vector<Watched> watched;  ///< rising in launch
  std::vector<ExpertLoad> loads; ///< of each layer that is watched

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
