//===- WorkQueue.h - A few threads that take work in order ------------------===//
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ingot::api {

class WorkQueue {
public:
  explicit WorkQueue(int threads);
  /// Finishes what has begun; what has not is dropped.
  ~WorkQueue();
  void push(std::function<void()> work);

private:
  void run();
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> waiting;
  bool stopping = false;
  std::vector<std::thread> threads;
};

} // namespace ingot::api
