//===- UnderWay.h - The requests of a model that are not answered yet --------===//
//
// Owns answers while libingot works on them. Its lock keeps the watch from asking about a request
// whose last response is being sent.
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
  /// libingot knows it by `id`. It may have ended by now.
  void started(const Answer &answer, uint64_t id);
  /// From now on nobody asks whether it was cancelled.
  void ending(const Answer &answer);
  /// Nothing of it is used any more: forgets it.
  void ended(const Answer &answer);

  bool none() const;
  /// Waits until there is a request, or `stop`.
  void waitForAny(const bool &stop);
  /// Waits so long, or until `stop`.
  void waitFor(int64_t ms, const bool &stop);
  bool stopped(const bool &stop) const;
  /// Sets `stop`, and has it looked at.
  void wake(bool &stop);

  /// Those whose clients have cancelled them since the last look.
  std::vector<uint64_t> newlyCancelled();
  /// All of an instance that goes.
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
};

} // namespace ingot::triton
