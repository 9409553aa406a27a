//===- Answer.h - One request, from its tensors to its last response ---------===//
//
//   Execute      read → ingot_enqueue                                      Triton's thread
//   output       → response …                                              libingot's output thread
//   last output  → statistics, final response, release of request, forget  libingot's output thread
//
// Triton's request is released only at the end, so that its statistics cover its whole duration.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/Outputs.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace ingot::triton {

class Model;
struct Call;

class Answer {
public:
  /// Takes ownership of `request`, and answers and releases it even on failure.
  static void start(Model &model, TRITONBACKEND_ModelInstance *instance,
                    TRITONBACKEND_Request *request, uint64_t now);

  Answer(Model &model, TRITONBACKEND_ModelInstance *instance, TRITONBACKEND_Request *request,
         TRITONBACKEND_ResponseFactory *factory, uint64_t now)
      : model(model), instance(instance), request(request), factory(factory), begun(now) {}
  Answer(const Answer &) = delete;
  Answer &operator=(const Answer &) = delete;

  TRITONBACKEND_ModelInstance *owner() const { return instance; }
  /// Returns whether the client has cancelled the request. Must not be called after the last
  /// response.
  bool cancelledByClient() const;
  /// Marks the answer as cancelled because its model is being unloaded.
  void unload() { unloading = true; }

private:
  /// Reads and enqueues the request. Returns the failure, if any.
  Outcome enqueue(const std::shared_ptr<Answer> &self);
  static void onOutput(void *user, const ingot_output *output);
  void take(const ingot_output &output);
  void end(bool started) noexcept;
  void respond();
  Outcome ending() const;
  Outcome send(std::span<const Part> rows, uint32_t flags);
  void sendError(const Failure &failure);
  Part partOf(const ingot_output &output);

  Model &model;
  TRITONBACKEND_ModelInstance *const instance;
  TRITONBACKEND_Request *const request;
  TRITONBACKEND_ResponseFactory *const factory;
  const uint64_t begun; ///< ns of the steady clock

  std::vector<const OutputPort *> ports;
  bool streaming = false, logprobs = false, echo = false;
  std::string echoedText;
  std::vector<int32_t> echoedIds;
  std::map<int32_t, double> sums; ///< sum of log-probabilities, for each choice that has begun
  std::vector<Part> rows;         ///< one per choice; empty if streaming
  std::optional<Part> lastPart;   ///< streaming: the part in the final response
  double queueMs = 0;
  Outcome failed;
  bool cancelled = false;
  std::atomic<bool> unloading = false;
};

} // namespace ingot::triton
