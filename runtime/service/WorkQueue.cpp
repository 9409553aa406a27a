//===- WorkQueue.cpp - Threads over two queues ------------------------------===//
#include "runtime/service/WorkQueue.h"

#include <exception>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace ingot::service {

namespace {

/// Returns freed memory to the system. Otherwise the allocator would keep it, in an arena per thread.
void giveMemoryBack() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

/// After work on a body of at least this many bytes, freed memory is returned to the system. Reading
/// a body takes about a hundred times its size in memory.
constexpr size_t kTrimFrom = 256 << 10;

} // namespace

WorkQueue::WorkQueue(int count) {
  for (int i = 0; i < count; ++i)
    threads.emplace_back([this, shortOnly = i == 0 && count > 1] { run(shortOnly); });
}

WorkQueue::~WorkQueue() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
    shortWork.clear();
    longWork.clear();
  }
  wake.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void WorkQueue::push(std::function<void()> work, size_t bytes) {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now() - begin;
  {
    std::lock_guard lock(mutex);
    (bytes <= kShort ? shortWork : longWork)
        .emplace(now.count() + double(bytes) / kBytesPerSecond, Work{std::move(work), bytes});
  }
  wake.notify_all(); // notify_one might wake a thread that does not take this work
}

/// Returns the queue to take the next item from, or null if there is none for this thread.
WorkQueue::Line *WorkQueue::next(bool shortOnly) {
  if (longWork.empty() || shortOnly)
    return shortWork.empty() ? nullptr : &shortWork;
  return shortWork.empty() || longWork.begin()->first < shortWork.begin()->first ? &longWork
                                                                                 : &shortWork;
}

void WorkQueue::run(bool shortOnly) {
  while (true) {
    std::unique_lock lock(mutex);
    Line *line = nullptr;
    wake.wait(lock, [&] { return (line = next(shortOnly)) || stopping; });
    if (!line)
      return;
    Work work = std::move(line->begin()->second);
    line->erase(line->begin());
    lock.unlock();
    try {
      work.run();
    } catch (const std::exception &) {
      // Out of memory. Destroying the work destroys its Responder, which then answers.
    }
    work.run = nullptr;
    if (work.bytes >= kTrimFrom)
      giveMemoryBack();
  }
}

} // namespace ingot::service
