//===- UnderWay.h - A model's requests that are not answered yet -------------===//
//
// UnderWay owns answers while libingot works on them. Its lock prevents the watcher thread from querying a request
// while the last response of the request is being sent.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/Answer.h"

#include <condition_variable>
#include <map>
#include <mutex>

namespace ingot::triton {

class UnderWay {
public:
  void add(const std::shared_ptr<Answer> &answer);
  /// Records libingot's id of an answer, which may already have ended.
  void started(const Answer &answer, uint64_t id);
  /// From now on, the answer is not checked for cancellation.
  void ending(const Answer &answer);
  /// Forgets an answer that is no longer in use.
  void ended(const Answer &answer);

  bool none() const;
  /// Waits until a request has begun since the last call, even one that has already ended, or until `stop` is set.
  void waitForNew(const bool &stop);
  /// Waits for `ms` milliseconds, or until `stop` is set.
  void waitFor(int64_t ms, const bool &stop);
  bool stopped(const bool &stop) const;
  /// Sets `stop` and wakes the threads that wait for it.
  void wake(bool &stop);

  /// Returns the ids of requests that clients have cancelled since the last call.
  std::vector<uint64_t> newlyCancelled();
  /// Marks all requests of an instance that is being unloaded, and returns their ids.
  std::vector<uint64_t> unload(const TRITONBACKEND_ModelInstance *instance);
  void waitUntilNone(const TRITONBACKEND_ModelInstance *instance);

private:
  struct Entry {
    std::shared_ptr<Answer> answer;
    uint64_t id = 0;
    bool watched = true;
  };
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::map<const Answer *, Entry> entries;
  uint64_t begun = 0,
           seen = 0; ///< number of requests that have begun: now, and at the last waitForNew
};

} // namespace ingot::triton
