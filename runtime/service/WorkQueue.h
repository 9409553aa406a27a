//===- WorkQueue.h - A few threads that take short work first ---------------===//
//
// Work comes with a size, that of the body it reads. What is taken next is what would be done first
// if each began when it came and went on at kBytesPerSecond: short work passes long work that came
// up to the difference before it, so that nothing waits for ever. Where there are several threads,
// one of them takes short work alone: whoever asks little does not wait for all others to have read
// megabytes.
//
//   8 MB at 0 s: done at 4 s  -------------------------------|
//   200 bytes at 1 s:                 |  first, and a thread is free for it
//
// What long work took of memory goes back to the system when it has ended.
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
  static constexpr size_t kShort = 64 << 10; ///< bytes of work that a thread is kept for
  static constexpr double kBytesPerSecond = 2 << 20;

  explicit WorkQueue(int threads);
  /// Finishes what has begun; what has not is dropped.
  ~WorkQueue();
  void push(std::function<void()> work, size_t bytes = 0);

private:
  struct Work {
    std::function<void()> run;
    size_t bytes;
  };
  using Line = std::multimap<double, Work>; ///< by when it would be done

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
