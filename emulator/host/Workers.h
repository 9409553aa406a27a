//===- Workers.h - Threads that run the clusters of a launch ------------------===//
#pragma once

#include "emulator/host/Scheduler.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace ingot::emulator {

/// Fibers must stay on the thread that created them, so the threads live as long as the device.
class Workers {
public:
  explicit Workers(int count);
  ~Workers();
  /// Runs all blocks; returns when they have ended or a finding was fatal.
  void run(LaunchState &launch);

private:
  struct Worker {
    std::thread thread;
    std::vector<std::unique_ptr<Cluster>> clusters; ///< reused by later launches
    std::atomic<u64> idleAt{0}; ///< LaunchState::progress when no cluster here could continue
  };
  void loop(Worker &worker, u32 index);
  void runInTurn(Worker &worker, LaunchState &launch);
  void runResident(Worker &worker, u32 index, LaunchState &launch);
  bool isDeadlock(u64 progress) const;
  static Cluster &clusterOf(Worker &worker, size_t index);

  std::vector<std::unique_ptr<Worker>> workers;
  std::mutex mutex;
  std::condition_variable changed;
  LaunchState *current = nullptr;
  u64 round = 0;
  size_t busy = 0;
  bool ending = false;
  std::atomic<u64> nextCluster{0};
};

} // namespace ingot::emulator
