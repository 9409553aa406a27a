//===- ValidatedRequest.h - A request that a session can answer ------------===//
//
// Only Session::validate makes a ValidatedRequest, from a Request. The type is the proof: code that
// receives one need not check its tokens, values or length again.
//
//   Request --validate()--> ValidatedRequest --Service::submit()--> Session::submit()
//            any thread                         any thread           the session's thread
//
// Validation depends only on limits that are fixed while a session is open. Conditions that change
// (room in the queue, free memory, shutdown) are checked when a request is submitted.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/session/Request.h"

namespace ingot::runtime {

class Session;

/// A request for one submission to the session that validated it. Only its hooks can change.
class ValidatedRequest {
public:
  ValidatedRequest(ValidatedRequest &&) = default;
  ValidatedRequest &operator=(ValidatedRequest &&) = default;

  /// Returns the settings, which all prompts that were validated with them share.
  const RequestSettings &settings() const { return *shared; }
  const std::vector<int32_t> &promptIds() const { return prompt; }
  /// Returns the number of answers. Their choices are SamplingParams::choice, +1, …
  int32_t choices() const { return answers; }

  RequestHooks hooks;

private:
  friend class Session;
  ValidatedRequest(const Session &by, std::shared_ptr<const RequestSettings> settings,
                   std::vector<int32_t> promptIds, int32_t choices)
      : session(&by), shared(std::move(settings)), prompt(std::move(promptIds)), answers(choices) {}

  const Session *session; ///< the session that validated the request
  std::shared_ptr<const RequestSettings> shared;
  std::vector<int32_t> prompt;
  int32_t answers;
  int64_t mostNew = 0;                ///< maximum number of new tokens
  uint64_t stateBytes = 0;            ///< bytes of the hidden states that its search keeps
  std::shared_ptr<const void> states; ///< memory for the hidden states; null: not reserved
};

} // namespace ingot::runtime
