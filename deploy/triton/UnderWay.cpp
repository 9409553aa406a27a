//===- UnderWay.cpp - Requests that are not answered yet ---------------------===//
#include "deploy/triton/UnderWay.h"

#include <algorithm>
#include <chrono>

namespace ingot::triton {

void UnderWay::add(const std::shared_ptr<Answer> &answer) {
  const std::lock_guard lock(mutex);
  entries.emplace(answer.get(), Entry{answer});
  ++begun;
  changed.notify_all();
}

void UnderWay::started(const Answer &answer, uint64_t id) {
  const std::lock_guard lock(mutex);
  if (const auto found = entries.find(&answer); found != entries.end())
    found->second.id = id;
}

void UnderWay::ending(const Answer &answer) {
  const std::lock_guard lock(mutex);
  entries.at(&answer).watched = false;
}

void UnderWay::ended(const Answer &answer) {
  std::shared_ptr<Answer> last; // destroyed after the lock is released
  const std::lock_guard lock(mutex);
  const auto found = entries.find(&answer);
  last = std::move(found->second.answer);
  entries.erase(found);
  changed.notify_all();
}

bool UnderWay::none() const {
  const std::lock_guard lock(mutex);
  return entries.empty();
}

void UnderWay::waitForNew(const bool &stop) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return stop || begun != seen; });
  seen = begun;
}

void UnderWay::waitFor(int64_t ms, const bool &stop) {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, std::chrono::milliseconds(ms), [&] { return stop; });
}

bool UnderWay::stopped(const bool &stop) const {
  const std::lock_guard lock(mutex);
  return stop;
}

void UnderWay::wake(bool &stop) {
  const std::lock_guard lock(mutex);
  stop = true;
  changed.notify_all();
}

std::vector<uint64_t> UnderWay::newlyCancelled() {
  std::vector<uint64_t> ids;
  const std::lock_guard lock(mutex);
  for (auto &[answer, entry] : entries)
    if (entry.watched && entry.id && answer->cancelledByClient()) {
      ids.push_back(entry.id);
      entry.watched = false;
    }
  return ids;
}

std::vector<uint64_t> UnderWay::unload(const TRITONBACKEND_ModelInstance *instance) {
  std::vector<uint64_t> ids;
  const std::lock_guard lock(mutex);
  for (auto &[answer, entry] : entries)
    if (answer->owner() == instance) {
      entry.answer->unload();
      ids.push_back(entry.id); // the id is set, since nothing is enqueued during an unload
    }
  return ids;
}

void UnderWay::waitUntilNone(const TRITONBACKEND_ModelInstance *instance) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] {
    return std::ranges::none_of(
        entries, [&](const auto &entry) { return entry.first->owner() == instance; });
  });
}

} // namespace ingot::triton
