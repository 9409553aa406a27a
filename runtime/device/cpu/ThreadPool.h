//===- ThreadPool.h - Threads that are invited, and a gate to wait at -----===//
//
// A step is some hundred launches of a few microseconds, all threads working on
// each (StepLoop.h). The pool only brings the threads there: invite() lets those
// through who wait at its gate; whoever comes late joins a step under way.
//
// A thread that waits spins for at most 50 us, which covers the gaps between
// launches and between the steps of a saturated loop, and then sleeps on a
// futex, so that an idle session burns no core. Waking costs a syscall only if
// somebody sleeps. Nothing is allocated and no lock is taken after creation.
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

/// A counter that threads wait on. advance() lets everybody through who waits
/// for the value to change.
class Gate {
public:
  uint32_t value() const { return count.load(std::memory_order_acquire); }
  void advance();
  /// Returns once value() differs from `old`; what was written before the
  /// advance() is visible then.
  void await(uint32_t old);
  /// advance() was called more than `before` times (counting wraps around).
  bool passed(uint32_t before) const { return int32_t(value() - before) > 0; }

private:
  alignas(64) std::atomic<uint32_t> count{0};
  alignas(64) std::atomic<uint32_t> sleepers{0};
};

class ThreadPool {
public:
  using Job = void (*)(void *context, int thread);

  /// Starts threads 1 … threads-1; 0 is the caller's own. Each runs job(context, thread) at
  /// least once after every invite(), once for several if it was late. E0701 (exit 4)
  /// if the system gives no more threads, E0507 (exit 3) if it gives no memory for them.
  static Result<std::unique_ptr<ThreadPool>> create(int threads, Job job, void *context);
  /// Waits for jobs under way.
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

/// Processors this process may use: its affinity, cut to the cgroup's quota.
int usableProcessors();

} // namespace ingot::cpu
