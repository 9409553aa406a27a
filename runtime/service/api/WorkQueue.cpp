//===- WorkQueue.cpp - Threads over one queue -------------------------------===//
#include "runtime/service/api/WorkQueue.h"

#include <exception>

namespace ingot::api {

WorkQueue::WorkQueue(int count) {
  for (int i = 0; i < count; ++i)
    threads.emplace_back([this] { run(); });
}

WorkQueue::~WorkQueue() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
    waiting.clear();
  }
  wake.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void WorkQueue::push(std::function<void()> work) {
  {
    std::lock_guard lock(mutex);
    waiting.push_back(std::move(work));
  }
  wake.notify_one();
}

void WorkQueue::run() {
  while (true) {
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return stopping || !waiting.empty(); });
    if (waiting.empty())
      return;
    auto work = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    try {
      work();
    } catch (const std::exception &) {
      // There was no memory for it: what it held goes, and answers by going (Responder).
    }
  }
}

} // namespace ingot::api
