//===- Executor.h - A program of an engine, ready to run on some device ---===//
//
// The device as a session sees it. An executor is created from an engine file and limits: it
// allocates all memory, puts the weights where its kernels read them and resolves the program. From
// then on a step allocates nothing.
//
//   session                   executor              device
//   plan a batch   --step-->  run the program  -->  cpu: threads over the mapped file
//   sample         <-logits-  rows on the host  <-  cuda: graphs and launches, one copy each way
//                  <-ids-----  endSampled(), if the device samples
//
// Sampled steps may overlap with work on the host: while one step is in flight, the next is queued with token ids that
// are not known yet.
//
//   beginSampled(1)  beginSampled(2)  endSampled() = tokens of 1
//                    beginSampled(3)  endSampled() = tokens of 2  …
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/device/KernelBench.h"
#include "runtime/device/Trace.h"
#include "runtime/engine/Inspect.h"
#include "runtime/kv/PageMover.h"

#include <cassert>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ingot::runtime {

class Executor {
public:
  Executor() = default;
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;
  virtual ~Executor() = default;

  /// Runs the program once over the batch. The caller owns the batch's memory, which the host can
  /// read. The logits rows are valid until the next step. E0901 if the batch exceeds the limits (a
  /// bug of the caller); a device may fail with its own errors (E07xx).
  virtual Result<void> step(const BatchView &batch) = 0;

  /// Returns whether the device itself can sample a row with these parameters. Only then may the row be part of a step
  /// that beginSampled() begins.
  virtual bool draws(const RowSampling &row) const {
    (void)row;
    return false;
  }
  /// Returns the maximum number of logits rows of a step that beginSampled() begins.
  virtual int64_t mostDrawnRows() const { return std::numeric_limits<int64_t>::max(); }
  /// Returns whether a second step may begin before the first has ended. Its batch then uses the id `~r`
  /// for the token that row r of the first step will yield.
  virtual bool runsAhead() const { return false; }
  /// Does the same as step(), but endSampled() returns the next token of each row instead of logits. The tokens equal
  /// the tokens that the sampler (sample/Sampler.h) would sample according to batch.sampling. If batch.sampling is
  /// null, they equal the results of its `argmax`. On return, the batch belongs to the caller again.
  virtual Result<void> beginSampled(const BatchView &batch) {
    (void)batch;
    assert(false && "draws() says no");
    return {};
  }
  /// Waits for the oldest step that was begun and returns its tokens, which are valid until the next
  /// beginSampled().
  virtual Result<std::span<const int32_t>> endSampled() { return std::span<const int32_t>(); }

  /// On the host: f32 [rows][logitsStride]; only the first vocab values of a row are valid.
  virtual const float *logits() const = 0;
  virtual int64_t logitsStride() const = 0;
  /// Returns, for each row, the maximum of every kPanelRows logits, as sample/Sampler.h expects them: f32
  /// [rows][maximaStride]. Null if the program does not compute them.
  virtual const float *maxima() const { return nullptr; }
  virtual int64_t maximaStride() const { return 0; }

  /// Returns the number of values in a hidden state: model.hidden, or 0 if the program does not expose them.
  virtual int64_t hiddenSize() const { return 0; }
  /// Writes the model's last hidden state (after its last norm) for a logits row of the last step.
  virtual void hiddenState(int64_t row, float *out) const {
    (void)row, (void)out;
    assert(false && "hiddenSize() is 0");
  }

  /// Does up to a few milliseconds of work that a step would otherwise wait for. An idle session calls
  /// this. Returns false when nothing is left to do.
  virtual bool prepareAhead() { return false; }
  /// Asks the system to commit more of the memory of the first pages[g] KV pages of each group g, so
  /// that no step has to wait for it. One call commits a piece in less than a millisecond. Returns
  /// false when all of it is committed.
  virtual bool takeKvMemory(std::span<const int64_t> pages) {
    (void)pages;
    return false;
  }
  /// Moves KV pages between steps; null if the device does not support it.
  virtual PageMover *pageMover() { return nullptr; }

  /// Returns the memory that was allocated, by part.
  virtual const MemoryPlan &memory() const = 0;
  /// Returns the number of KV pages in each state's pool.
  int64_t pages() const { return int64_t(memory().pages); }
  /// Returns the program of the engine that this executor runs.
  virtual const fb::Program &program() const = 0;
  /// Returns the model that all programs of the engine implement.
  virtual const fb::Model &model() const = 0;
  /// Target of the code that runs: "cpu:avx512", "cuda:sm_90a".
  virtual std::string_view target() const = 0;
  /// Returns the device in readable form: "2 threads", "NVIDIA H200".
  virtual std::string device() const = 0;
  /// A remark for the user about the choice of code; usually empty.
  virtual std::string remark() const { return ""; }
  /// Prefetch distance in bytes: how far ahead the kernel prefetches each line of its weights in one-token
  /// steps, if the executor has measured that to be faster; otherwise 0.
  virtual int64_t readAhead(size_t kernel) const {
    (void)kernel;
    return 0;
  }
  /// Returns the number of host threads that work on a step.
  virtual int threads() const = 0;

  /// Returns a bench that measures launches in isolation; null if the device does not support it. The
  /// bench overwrites the executor's memory, so no step may run meanwhile, and the memory holds no
  /// meaningful results afterwards.
  virtual std::unique_ptr<KernelBench> kernelBench() { return nullptr; }

  /// Starts or stops recording times. `keepEvents`: record events for a Chrome trace.
  virtual void startTrace(bool keepEvents) = 0;
  virtual void stopTrace() = 0;
  virtual const Trace *trace() const = 0; ///< null unless started
};

} // namespace ingot::runtime
