//===- ThreadPool.cpp - Gate and workers -----------------------------------===//
#include "runtime/device/cpu/ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <system_error>

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ingot::cpu {

namespace {

constexpr auto kSpin = std::chrono::microseconds(50);

void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

/// Returns whether there is no address space for one more stack (`ulimit -v`). A thread that cannot start fails
/// with EAGAIN in this case as well as when there are too many threads.
bool stackMissing() {
  size_t bytes = size_t(8) << 20;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
  }
  void *trial = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (trial == MAP_FAILED)
    return true;
  munmap(trial, bytes);
  return false;
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

} // namespace

void Gate::advance() {
  // Both sides are sequentially consistent: either advance() sees the sleeper, or the
  // sleeper's futex call sees the new count.
  count.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst))
    futexWakeAll(count);
}

void Gate::await(uint32_t old) {
  auto deadline = std::chrono::steady_clock::time_point();
  for (int spins = 1; value() == old; ++spins) {
    pause();
    if (spins % 32)
      continue;
    auto now = std::chrono::steady_clock::now();
    if (spins == 32)
      deadline = now + kSpin;
    else if (now >= deadline)
      break;
  }
  if (value() != old)
    return;
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (count.load(std::memory_order_seq_cst) == old)
    futexWait(count, old);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads, Job job, void *context) {
  std::unique_ptr<ThreadPool> pool(new ThreadPool(std::max(1, threads)));
  pool->workers.reserve(size_t(pool->count - 1));
  for (int thread = 1; thread < pool->count; ++thread) {
    try {
      pool->workers.emplace_back([=, raw = pool.get()] { raw->work(job, context, thread); });
    } catch (const std::system_error &failure) {
      std::string started =
          std::to_string(thread) + " of " + std::to_string(threads) + " threads started, then: ";
      if (stackMissing()) {
        Error error = outOfMemory("threads started");
        error.why = started + "no address space for another stack";
        error.fix += thread > 1 ? ", or give fewer: --threads " + std::to_string(thread) : "";
        return error;
      }
      return Error{ExitCode::Device, "E0701", "cannot start the threads of the CPU device",
                   started + failure.what(), "give fewer: --threads " + std::to_string(thread)};
    }
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  stopping.store(true, std::memory_order_relaxed);
  start.advance();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::work(Job job, void *context, int thread) {
  for (uint32_t seen = 0;;) {
    start.await(seen);
    if (stopping.load(std::memory_order_relaxed))
      return;
    seen = start.value(); // before the job, so that an invitation during it is not missed
    job(context, thread);
  }
}

int usableProcessors() {
  int processors = int(std::max(1u, std::thread::hardware_concurrency()));
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
    processors = std::max(1, CPU_COUNT(&allowed));
  // A container may have a quota of 1.5 processors on a machine with 64: 64 threads would all be
  // throttled together for most of every period.
  std::ifstream quotaFile("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (quotaFile >> quota >> period && quota > 0 && period > 0)
    processors = std::min(processors, std::max(1, int(std::ceil(quota / period))));
  return processors;
}

} // namespace ingot::cpu
