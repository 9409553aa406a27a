//===- WorkQueue.h - A thread pool that runs short work first ---------------===//
//
// Each item of work has a size: the bytes of the request body that it reads. Items run in the order
// in which they would finish if each started on arrival and proceeded at kBytesPerSecond. Short
// work thus overtakes long work that arrived recently, but not older work, so nothing waits forever.
// If there are several threads, one of them takes short work only. A small request therefore does not
// wait until the other threads have read megabytes.
//
//   8 MB arrive at 0 s: done at 4 s  ------------------------|
//   200 bytes arrive at 1 s:          |  run first, and a thread is free for them
//
// Memory of long work is returned to the system when the work has ended.
//===----------------------------------------------------------------------===//
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace ingot::service {

class WorkQueue {
public:
  static constexpr size_t kShort = 64 << 10; ///< maximum bytes of short work
  static constexpr double kBytesPerSecond = 2 << 20;

  explicit WorkQueue(int threads);
  /// Finishes the work that has begun and drops the rest.
  ~WorkQueue();
  void push(std::function<void()> work, size_t bytes = 0);

private:
  struct Work {
    std::function<void()> run;
    size_t bytes;
  };
  using Line = std::multimap<double, Work>; ///< by estimated finish time, in seconds

  void run(bool shortOnly);
  Line *next(bool shortOnly);

  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::condition_variable wake;
  Line shortWork, longWork;
  bool stopping = false;
  std::vector<std::thread> threads;
};

} // namespace ingot::service
