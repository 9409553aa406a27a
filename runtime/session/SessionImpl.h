//===- SessionImpl.h - The parts of a session -----------------------------===//
#pragma once

#include "runtime/device/Executor.h"
#include "runtime/device/cpu/HostMemory.h"
#include "runtime/kv/SequenceMemory.h"
#include "runtime/sample/Sampler.h"
#include "runtime/schedule/Scheduler.h"
#include "runtime/session/Answer.h"
#include "runtime/session/Session.h"
#include "runtime/session/SessionErrors.h"
#include "runtime/session/search/Search.h"
#include "runtime/session/search/StateMemory.h"

#include <optional>
#include <unordered_map>

namespace ingot::runtime {

struct Session::Impl {
  std::shared_ptr<EngineFile> file;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<text::Tokenizer> tokenizer;
  cpu::HostMemory swap; ///< KV pages of preempted sequences
  std::unique_ptr<SequenceMemory> memory;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<Sampler> sampler;
  std::vector<int32_t> eos;
  RequestLimits limits{};
  double loadMs = 0, longestStep = 0;
  int64_t kvSaturated = 0; ///< count of the last logits()
  std::string traceFile;   ///< empty once written

  /// The answers by request id. A plain answer has the same id as its sequence.
  std::unordered_map<RequestId, std::unique_ptr<Answer>> answers;
  /// Further choices of requests with a prompt that is not complete yet. They begin when the prompt's logits are known.
  std::unordered_map<RequestId, std::vector<RequestId>> choicesOf;

  std::optional<RowRanking> ranking; ///< created for the first search
  std::unordered_map<SequenceId, Search *> searchOf;
  std::vector<std::unique_ptr<Search>> searches;
  std::unique_ptr<StateMemory> states;

  std::optional<Error> failure; ///< the device's error, once it has failed

  /// The rows of a step that has begun and that the device samples. Some of their answers may have finished since then.
  using Rows = std::vector<Scheduler::Row>;
  struct Begun {
    Rows rows;
    StepWork work;
    double at; ///< seconds
  };
  std::optional<Begun> underWay;
  double lastEnd = 0;                ///< end of the last step
  std::vector<float> hidden;         ///< hidden state of one row
  std::vector<RowSampling> sampling; ///< of the rows of the planned step
  std::vector<float> editedRow;      ///< [vocab]; allocated once a request has an onLogits hook
  std::vector<const std::atomic<bool> *> setFlags; ///< flags of the requests to cancel; submit()
                                                   ///< reserves room

  static double now() { return double(nowNanoseconds()) * 1e-9; }
  /// Plans the next batch, and marks requests that are in a batch for the first time as started.
  const BatchView *plan();
  void cancel(RequestId id, Answer &answer);
  void endCancelled();
  /// Handles the rows of the step that has ended, and decides which sequences continue, fork or
  /// end.
  void takeRows();
  void drawRow(const Scheduler::Row &row, int64_t index);
  void scoreRow(const Scheduler::Row &row, Answer &answer, int64_t index);
  void endPrompt(const Scheduler::Row &row);
  void poolRow(const Scheduler::Row &row, Answer &answer, int64_t index);
  /// `reserved`: memory for the hidden states of the search; null if it keeps none.
  void startSearch(SequenceId first, Request request, int64_t maxTokens,
                   std::shared_ptr<const void> reserved, std::vector<Answer *> answers);
  /// If all answers of a search have ended, ends the remaining parts of the search.
  void endSearches();
  /// If the step failed, records its error in `failure`, ends all requests and returns false.
  bool succeeded(const Result<void> &ran);
  /// Runs the planned batch to completion for its logits.
  bool runStep(const BatchView &batch);
  /// Returns whether the device can sample all rows of the planned batch. If so, `sampling` has the parameters.
  bool deviceDraws();
  std::optional<Begun> beginSampled(const BatchView &planned);
  std::optional<Begun> runAhead(const Rows &rows);
  bool finishSampled();
  /// Returns the logits from which an answer's token is sampled: the row itself, or a copy that its hook has changed.
  const float *drawnFrom(const float *row, const Answer &answer);
  /// Returns the answer that a row belongs to; null if the answer has finished.
  Answer *answerOf(const Scheduler::Row &row);
};

} // namespace ingot::runtime
