//===- Executor.h - A program of an engine, ready to run on some device ---===//
//
// What a session knows of a device. An executor is made from an engine file and limits:
// it takes all memory, puts weights where its kernels read them and resolves the program;
// from then on a step allocates nothing.
//
//   session                   executor              device
//   plan a batch   --step-->  run the program  -->  cpu: threads over the mapped file
//   sample         <-logits-  rows on the host  <-  cuda: graphs and launches, one copy each way
//                  <-ids-----  endSampled(), where the device draws them
//
// Sampled steps may overlap with what the host does: while one is under way, the next is queued
// with ids that are not known yet.
//
//   beginSampled(1)  beginSampled(2)  endSampled() = ids of 1
//                    beginSampled(3)  endSampled() = ids of 2  …
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

  /// Runs the program once over the batch, whose memory is the caller's and in reach of the
  /// host. The logits rows are valid until the next step. E0901 if the batch exceeds the
  /// limits (a bug of the caller); a device may fail on its own (E07xx).
  virtual Result<void> step(const BatchView &batch) = 0;

  /// Whether the device draws the id of a row like that, so that it may be in a step that
  /// beginSampled() begins.
  virtual bool draws(const RowSampling &row) const {
    (void)row;
    return false;
  }
  /// Most logits rows of such a step.
  virtual int64_t mostDrawnRows() const { return std::numeric_limits<int64_t>::max(); }
  /// Whether a second step may be begun before the first has ended, with ids of `~r` for what row r
  /// of that first one will find.
  virtual bool runsAhead() const { return false; }
  /// As step(), but what comes back by endSampled() is the id of each row, and no logits: the one
  /// that sample/Sampler.h draws as batch.sampling says, or `argmax` there finds if that is null.
  /// The batch is the caller's again.
  virtual Result<void> beginSampled(const BatchView &batch) {
    (void)batch;
    assert(false && "draws() says no");
    return {};
  }
  /// Ids of the oldest step that was begun, which it waits for; valid until the next
  /// beginSampled().
  virtual Result<std::span<const int32_t>> endSampled() { return std::span<const int32_t>(); }

  /// On the host: f32 [rows][logitsStride]; the first vocab values of a row count.
  virtual const float *logits() const = 0;
  virtual int64_t logitsStride() const = 0;
  /// Of each row the largest of each kPanelRows logits, as sample/Sampler.h takes them: f32
  /// [rows][maximaStride]. Null: the program leaves none.
  virtual const float *maxima() const { return nullptr; }
  virtual int64_t maximaStride() const { return 0; }

  /// Values of a hidden state: model.hidden, or 0 where the program does not tell them.
  virtual int64_t hiddenSize() const { return 0; }
  /// Writes the model's last hidden state (after its last norm) of a logits row of the last step.
  virtual void hiddenState(int64_t row, float *out) const {
    (void)row, (void)out;
    assert(false && "hiddenSize() is 0");
  }

  /// Makes something ready that a step would have to wait for, in a few milliseconds, while nobody
  /// asks. False: all is ready.
  virtual bool prepareAhead() { return false; }
  /// Has the system give more of the memory of the first pages[g] KV pages of each group, before a
  /// step has to wait for it: a piece that takes below a millisecond. False: all is there.
  virtual bool takeKvMemory(std::span<const int64_t> pages) {
    (void)pages;
    return false;
  }
  /// Moves KV pages between steps; null: this device cannot.
  virtual PageMover *pageMover() { return nullptr; }

  /// What was taken, by part.
  virtual const MemoryStatement &memory() const = 0;
  /// KV pages of each state's pool.
  int64_t pages() const { return int64_t(memory().pages); }
  /// The program of the engine that runs.
  virtual const fb::Program &program() const = 0;
  /// The model that all programs of the engine compute.
  virtual const fb::Model &model() const = 0;
  /// "cpu:avx512", "cuda:sm_90a": the code that runs.
  virtual std::string_view target() const = 0;
  /// Who runs it, for people: "2 threads", "NVIDIA H200".
  virtual std::string device() const = 0;
  /// What the user should know of the choice of code; mostly empty.
  virtual std::string remark() const { return ""; }
  /// Bytes ahead that a kernel asks for each line of its weights in steps of one token, as the executor has found to be
  /// faster; 0: it does not.
  virtual int64_t readAhead(size_t kernel) const {
    (void)kernel;
    return 0;
  }
  /// Of the host that work on a step.
  virtual int threads() const = 0;

  /// Times launches apart from each other; null: this device cannot. The executor's memory is its
  /// own meanwhile, and holds no answers afterwards.
  virtual std::unique_ptr<KernelBench> kernelBench() { return nullptr; }

  /// Starts (or ends) taking times. `keepEvents` for a Chrome trace.
  virtual void startTrace(bool keepEvents) = 0;
  virtual void stopTrace() = 0;
  virtual const Trace *trace() const = 0; ///< null unless started
};

} // namespace ingot::runtime
