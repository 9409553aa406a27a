//===- Answer.h - One request, from its tensors to its last response ---------===//
//
//   Execute   read → ingot_enqueue                                        Triton's thread
//   output    → response …                                                libingot's thread of outputs
//   last one  → statistics, final response, request released, forgotten   the same
//
// Triton's request is kept until the end, so that its statistics tell all of the time.
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
  /// Takes `request`: whatever happens, it is answered and released.
  static void start(Model &model, TRITONBACKEND_ModelInstance *instance,
                    TRITONBACKEND_Request *request, uint64_t now);

  Answer(Model &model, TRITONBACKEND_ModelInstance *instance, TRITONBACKEND_Request *request,
         TRITONBACKEND_ResponseFactory *factory, uint64_t now)
      : model(model), instance(instance), request(request), factory(factory), begun(now) {}
  Answer(const Answer &) = delete;
  Answer &operator=(const Answer &) = delete;

  TRITONBACKEND_ModelInstance *owner() const { return instance; }
  /// Whether the client has. Not after the last response.
  bool cancelledByClient() const;
  /// It will be cancelled because its model goes.
  void unload() { unloading = true; }

private:
  /// Reads and enqueues; what went wrong.
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
  std::map<int32_t, double> sums; ///< of log-probabilities, of each choice that has begun
  std::vector<Part> rows;         ///< unless streaming: the choices
  std::optional<Part> lastPart;   ///< streaming: what the final response has
  double queueMs = 0;
  Outcome failed;
  bool cancelled = false;
  std::atomic<bool> unloading = false;
};

} // namespace ingot::triton
