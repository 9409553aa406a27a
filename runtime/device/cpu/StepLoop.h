//===- StepLoop.h - A step on several threads -----------------------------===//
//
// A step is a list of launches in groups; a group ends at a barrier of the plan,
// and its launches may overlap. The items of a launch are cut into parts, and a share of
// the parts is each thread's own: one part in a small step, which waits for memory, and
// several in a large one, whose parts take long enough for threads to drift apart (and
// whose weights then stay in a cache while one block of tokens after the other passes):
//
//                    group 0          group 1                 group 2
//   thread 0 | embed  consts | qkv . . . . . . . | attention . . . | ...
//   thread 1 | embed  consts | qkv . . . . . . . | attention . . . | ...
//
// A plain barrier would make everybody wait for the slowest to *arrive*. On a
// machine that others use too, a thread that sleeps or was taken off its core comes
// milliseconds late, at any of some hundred barriers. So parts are claimed: a thread
// takes its own parts, then whatever parts nobody has begun, the last first, and waits
// only for parts that are being worked on. On a quiet machine each thread gets its own
// every time (its caches stay warm); on a busy one the threads that run do the work
// of those that do not. What is computed is the same: items are independent
// (KernelAbi.h), whoever runs them.
//
//   claims[part][launch]  number of the last step in which the part was taken (CAS)
//   finished              parts of the current group that are done; the last one
//                         resets it and advances
//   groupsDone            a gate, one step per group: what waiting threads watch
//
// A thread may even be late by whole steps. It then must not mistake one step for
// another: what describes the step is copied under a version that is checked after
// the copy, a claim names its step, and a step ends only when all claimed parts are
// done; so a copy that was valid stays valid for every claim it wins.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/KernelAbi.h"
#include "runtime/device/Trace.h"
#include "runtime/device/cpu/ReadAhead.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/schema/engine_generated.h"

#include <memory>
#include <span>
#include <vector>

namespace ingot::cpu {

/// Counts that launches of CPUs have items by, and which of them is a grid's.
constexpr size_t kItemCounts = 5;
constexpr size_t countOf(fb::GridBase base) {
  return base == fb::GridBase::Spans ? 4 : static_cast<size_t>(base);
}
/// Those of a batch.
struct ItemCounts {
  uint64_t of[kItemCounts] = {};

  ItemCounts() = default;
  explicit ItemCounts(const BatchView &batch)
      : of{batch.tokens ? 1u : 0u, uint64_t(batch.tokens), uint64_t(batch.rows),
           uint64_t(batch.tiles), uint64_t(batch.spanCount)} {}
  uint64_t operator[](fb::GridBase base) const { return of[countOf(base)]; }
};

/// A launch with its operands' addresses.
struct ResolvedLaunch {
  KernelFn function;
  void *const *args;
  uint64_t factor; ///< items: factor * count of the base
  uint32_t kernel; ///< index in the engine's table
  int32_t layer;   ///< -1: none
  fb::GridBase base;
  fb::Partition partition;
  bool barrier;       ///< ends a group
  uint32_t view = 0;  ///< which of the step's batches it works on
  uint64_t cases = 1; ///< bits of steps that run it: that of its case; 1: all do
};

class StepLoop {
public:
  /// `scratch` of thread t is scratch + t * scratchStride. Program and scratch must
  /// outlive this. `known`: what another loop over the same kernels found of them. E0701.
  static Result<std::unique_ptr<StepLoop>> create(std::span<const ResolvedLaunch> program,
                                                  int threads, std::byte *scratch,
                                                  uint64_t scratchStride,
                                                  const ReadAhead *known = nullptr);

  int threads() const { return threadCount; }
  const ReadAhead &readAhead() const { return reading; }
  /// Runs the program once; returns when all of it is done. `views`: batches that differ in their
  /// block tables, at least as many as launches name. `trace` may be null. `cases`: the bits of those that the step
  /// runs, and 1.
  void run(const BatchView *views, runtime::Trace *trace, uint64_t cases = 1);
  void run(const BatchView &batch, runtime::Trace *trace) { run(&batch, trace); }

private:
  /// All a thread needs to know of a step.
  struct Step {
    ItemCounts count;
    const BatchView *batch;
    runtime::Trace *trace;
    uint64_t number;     ///< rises from step to step
    uint32_t firstGroup; ///< value of groupsDone when it began
    uint64_t cases;
    int trial; ///< of reading ahead
  };

  StepLoop(std::span<const ResolvedLaunch> program, int threads, std::byte *scratch,
           uint64_t scratchStride, const ReadAhead *known);
  void publish(const Step &step);
  /// False while the caller is publishing the next one.
  bool copyStep(Step &step) const;
  void work(int thread);
  template <bool Traced> void runStep(const Step &step, int thread);
  template <bool Traced>
  void runGroup(const Step &step, int thread, size_t first, size_t end, uint32_t target);
  template <bool Traced>
  void runPart(const Step &step, int thread, size_t launch, uint64_t part, uint64_t parts);
  bool claim(const Step &step, size_t launch, uint64_t part);
  uint64_t itemsOf(const Step &step, const ResolvedLaunch &launch) const;
  uint64_t partsOf(const Step &step, const ResolvedLaunch &launch) const;

  std::span<const ResolvedLaunch> program;
  int threadCount;
  std::byte *scratch;
  uint64_t scratchStride;
  ReadAhead reading;
  std::vector<size_t> groupEnds; ///< one past the last launch of each group

  /// [part][launch]: claims of one thread's parts share lines with nobody's.
  std::vector<std::unique_ptr<std::atomic<uint64_t>[]>> claims;
  alignas(64) std::atomic<uint32_t> finished{0};
  Gate groupsDone;

  // The step as published; odd versions: being written.
  alignas(64) std::atomic<uint64_t> version{0};
  std::atomic<uint64_t> count[kItemCounts] = {};
  std::atomic<const BatchView *> batch{nullptr};
  std::atomic<runtime::Trace *> trace{nullptr};
  std::atomic<uint32_t> firstGroup{0};
  std::atomic<uint64_t> cases{1};
  std::atomic<int> trial{ReadAhead::kNoTrial};

  std::unique_ptr<ThreadPool> pool; ///< last: its threads end before the rest goes
};

} // namespace ingot::cpu
