//===- StepLoop.h - A step on several threads -----------------------------===//
//
// A step is a list of launches in groups; a group ends at a barrier of the plan, and its launches
// may overlap. The items of a launch are cut into parts, and each thread owns a share of the parts.
// In a small step, which is bound by memory, a thread owns one part. In a large step it owns several:
// launches take long enough for threads to drift apart, and then one thread can take over parts of
// another. The weights of a small part also stay in a cache while one block of tokens after the other
// is processed.
//
//                    group 0          group 1                 group 2
//   thread 0 | embed  consts | qkv . . . . . . . | attention . . . | ...
//   thread 1 | embed  consts | qkv . . . . . . . | attention . . . | ...
//
// A plain barrier would make all threads wait for the slowest to *arrive*. On a machine with other
// load, a thread that sleeps or was descheduled arrives milliseconds late, at any of some hundred
// barriers. So parts are claimed: a thread takes its own parts, then any parts that no thread has
// begun, last ones first, and waits only for parts in progress. On a quiet machine each thread gets
// its own parts every time (its caches stay warm); on a busy one the running threads do the work of
// the others. The results are the same: items are independent (KernelAbi.h), whichever thread runs
// them.
//
//   claims[part][launch]  number of the last step in which the part was taken (CAS)
//   finished              parts of the current group that are done; the thread that completes
//                         the last one resets it and advances
//   groupsDone            a gate, advanced once per group, at which threads wait
//
// A thread may even be late by whole steps, and must not mistake one step for another. It copies the
// description of the step and checks after the copy that the version is unchanged. A claim contains
// the number of its step, and a step ends only when all claimed parts are done. So if a thread wins a
// claim with a valid copy, the copy still describes the current step.
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

/// The counts from which CPU launches derive their items, and the index of the count for a grid
/// base.
constexpr size_t kItemCounts = 5;
constexpr size_t countOf(fb::GridBase base) {
  return base == fb::GridBase::Spans ? 4 : static_cast<size_t>(base);
}
/// The counts of a batch.
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
  uint64_t factor; ///< number of items: factor * count of the base
  uint32_t kernel; ///< index in the engine's table
  int32_t layer;   ///< -1: none
  fb::GridBase base;
  fb::Partition partition;
  bool barrier;       ///< ends a group
  uint32_t view = 0;  ///< index of the step's view that it works on
  uint64_t cases = 1; ///< the bit of its specialisation (CpuExecutor::bitOf); 1: every step runs it
};

class StepLoop {
public:
  /// `scratch` of thread t is scratch + t * scratchStride. Program and scratch must outlive this.
  /// `known`: the prefetch choices of another loop over the same kernels. E0701.
  static Result<std::unique_ptr<StepLoop>> create(std::span<const ResolvedLaunch> program,
                                                  int threads, std::byte *scratch,
                                                  uint64_t scratchStride,
                                                  const ReadAhead *known = nullptr);

  int threads() const { return threadCount; }
  const ReadAhead &readAhead() const { return reading; }
  /// Runs the program once; returns when all of it is done. `views`: batches that differ only in their block
  /// tables, at least as many as the launches refer to. `trace` may be null. `cases`: the bits of the
  /// specialisations that the step runs, plus bit 0.
  void run(const BatchView *views, runtime::Trace *trace, uint64_t cases = 1);
  void run(const BatchView &batch, runtime::Trace *trace) { run(&batch, trace); }

private:
  /// The description of a step that a thread needs.
  struct Step {
    ItemCounts count;
    const BatchView *batch;
    runtime::Trace *trace;
    uint64_t number;     ///< increases from step to step
    uint32_t firstGroup; ///< value of groupsDone when the step began
    uint64_t cases;
    int trial; ///< trial number of ReadAhead
  };

  StepLoop(std::span<const ResolvedLaunch> program, int threads, std::byte *scratch,
           uint64_t scratchStride, const ReadAhead *known);
  void publish(const Step &step);
  /// Returns false while the caller is publishing the next step.
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

  /// [part][launch]: the claims of different threads share no cache line.
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

  std::unique_ptr<ThreadPool> pool; ///< last: its threads must end before the other members are
                                    ///< destroyed
};

} // namespace ingot::cpu
