//===- ThreadPool.h - Threads that are invited to work, and a gate --------===//
//
// A step is some hundred launches of a few microseconds, with all threads working on each
// (StepLoop.h). The pool only wakes the threads: invite() releases the threads that wait at its gate, and a thread that
// comes late joins a step in progress.
//
// A waiting thread spins for at most 50 us, which covers the gaps between launches and between the
// steps of a saturated loop, and then sleeps on a futex, so that an idle session uses no CPU time.
// Waking costs a syscall only if a thread sleeps. Nothing is allocated and no lock is taken after
// creation.
//
// Threads are not pinned: on a shared machine the system places them better.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace ingot::cpu {

/// A counter that threads wait on. advance() releases all threads that wait for the value to
/// change.
class Gate {
public:
  uint32_t value() const { return count.load(std::memory_order_acquire); }
  void advance();
  /// Returns once value() differs from `old`; writes made before the advance() are then visible.
  void await(uint32_t old);
  /// Returns whether advance() was called more than `before` times (the counter may wrap around).
  bool passed(uint32_t before) const { return int32_t(value() - before) > 0; }

private:
  alignas(64) std::atomic<uint32_t> count{0};
  alignas(64) std::atomic<uint32_t> sleepers{0};
};

class ThreadPool {
public:
  using Job = void (*)(void *context, int thread);

  /// Starts threads 1 … threads-1; thread 0 is the caller's own. Each runs job(context, thread) at
  /// least once after every invite(). A late thread may run it only once for several invitations.
  /// E0701 (exit code 4) if the system cannot start more threads, E0507 (exit code 3) if it has no
  /// memory for them.
  static Result<std::unique_ptr<ThreadPool>> create(int threads, Job job, void *context);
  /// Waits for running jobs.
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threads() const { return count; }
  void invite() { start.advance(); }

private:
  explicit ThreadPool(int threads) : count(threads) {}
  void work(Job job, void *context, int thread);

  int count;
  std::atomic<bool> stopping{false};
  Gate start;
  std::vector<std::thread> workers;
};

/// Processors that this process may use: its affinity, limited to the cgroup's quota.
int usableProcessors();

} // namespace ingot::cpu
