//===- ThreadPool.h - Fixed threads with barriers that spin, then sleep ---===//
//
// A step is some hundred launches of a few microseconds, all threads working on
// each. So the pool is one gate, one job and one barrier, nothing else:
//
//   caller    run(job) --+-- job(0) ... barrier ... barrier ... --+-- returns
//   worker 1   (gate) ---+-- job(1) ... barrier ... barrier ... --+-- (gate)
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

private:
  alignas(64) std::atomic<uint32_t> count{0};
  alignas(64) std::atomic<uint32_t> sleepers{0};
};

class ThreadPool {
public:
  /// `threads` in all, the caller of run() included. E0701 (exit 4) if the system
  /// gives no more threads.
  static Result<std::unique_ptr<ThreadPool>> create(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threads() const { return count; }

  using Job = void (*)(void *context, int thread);
  /// Runs job(context, 0 … threads-1), number 0 on the calling thread, and returns
  /// when all are done. From one thread at a time; not from inside a job.
  void run(Job job, void *context);

  /// Inside a job: waits until all threads have called it as often.
  void barrier();

private:
  explicit ThreadPool(int threads) : count(threads) {}
  void work(int thread);

  int count;
  Job job = nullptr;
  void *context = nullptr;
  std::atomic<bool> stopping{false};
  Gate start;
  Gate passed;
  alignas(64) std::atomic<uint32_t> arrived{0};
  std::vector<std::thread> workers;
};

/// Processors this process may use: its affinity, cut to the cgroup's quota.
int usableProcessors();

} // namespace ingot::cpu
