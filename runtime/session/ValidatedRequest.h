//===- ValidatedRequest.h - A request that a session can answer ------------===//
//
// Only Session::validate makes one, from a Request. The type is the proof: nobody who receives it
// checks its ids, its values or its length again.
//
//   Request --validate()--> ValidatedRequest --Service::submit()--> Session::submit()
//            any thread                         any thread           the session's thread
//
// Validation depends only on limits that are fixed while a session is open. What changes meanwhile
// (room in the queue, free memory, shutting down) is checked when a request is submitted.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/session/Request.h"

namespace ingot::runtime {

class Session;

/// For one submission to the session that validated it. Only its hooks can change.
class ValidatedRequest {
public:
  ValidatedRequest(ValidatedRequest &&) = default;
  ValidatedRequest &operator=(ValidatedRequest &&) = default;

  /// Shared by all prompts that were validated with them.
  const RequestSettings &settings() const { return *shared; }
  const std::vector<int32_t> &promptIds() const { return prompt; }
  /// Number of answers, whose choices are SamplingParams::choice, +1, …
  int32_t choices() const { return answers; }

  RequestHooks hooks;

private:
  friend class Session;
  ValidatedRequest(const Session &by, std::shared_ptr<const RequestSettings> settings,
                   std::vector<int32_t> promptIds, int32_t choices)
      : session(&by), shared(std::move(settings)), prompt(std::move(promptIds)), answers(choices) {}

  const Session *session; ///< that validated it
  std::shared_ptr<const RequestSettings> shared;
  std::vector<int32_t> prompt;
  int32_t answers;
  int64_t mostNew = 0;                ///< maximum number of new ids
  uint64_t stateBytes = 0;            ///< of the hidden states that its search keeps
  std::shared_ptr<const void> states; ///< the memory for them; null: not reserved
};

} // namespace ingot::runtime
