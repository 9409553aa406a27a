//===- SessionImpl.h - The parts of a session -----------------------------===//
#pragma once

#include "runtime/device/Executor.h"
#include "runtime/kv/KvPool.h"
#include "runtime/sample/Sampler.h"
#include "runtime/schedule/Scheduler.h"
#include "runtime/service/Answer.h"
#include "runtime/service/Session.h"
#include "runtime/service/SessionErrors.h"

#include <optional>
#include <unordered_map>

namespace ingot::runtime {

struct Session::Impl {
  std::shared_ptr<EngineFile> file;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::unique_ptr<KvPool> kv;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<Sampler> sampler;
  std::vector<int32_t> eos;
  RequestLimits limits{};
  double loadMs = 0;
  std::string traceFile; ///< empty once written

  /// Sequences and requests go by the same number.
  std::unordered_map<RequestId, std::unique_ptr<Answer>> answers;

  std::optional<Error> failure; ///< of the device

  void endCancelled();
  /// Runs the planned batch; false if the device failed. With `greedy` the ids of its rows come
  /// back instead of logits.
  bool runStep(const BatchView &batch, std::span<const int32_t> *greedy = nullptr);
  /// Whether all rows of the planned batch want no more than the id of the largest logit, and the
  /// device finds it.
  bool wantsGreedyIds() const;
};

} // namespace ingot::runtime
