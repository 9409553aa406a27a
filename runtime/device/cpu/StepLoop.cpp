//===- StepLoop.cpp - Claiming and running parts ---------------------------===//
#include "runtime/device/cpu/StepLoop.h"

#include <algorithm>
#include <cassert>

namespace ingot::cpu {

namespace {

/// With at least this many tokens, a launch is cut into kSplit parts per thread.
constexpr uint64_t kLargeStep = 64;
constexpr uint64_t kSplit = 4;

ReadAhead readingOf(std::span<const ResolvedLaunch> program, int threads, const ReadAhead *known) {
  std::vector<uint32_t> kernels;
  for (const ResolvedLaunch &launch : program)
    kernels.push_back(launch.kernel);
  return known ? ReadAhead(std::move(kernels), *known)
               : ReadAhead(std::move(kernels), size_t(threads)); // steps of one token are small, so
                                                                 // they have one part per thread
}

} // namespace

StepLoop::StepLoop(std::span<const ResolvedLaunch> launches, int threads, std::byte *scratchBase,
                   uint64_t stride, const ReadAhead *known)
    : program(launches), threadCount(std::max(1, threads)), scratch(scratchBase),
      scratchStride(stride), reading(readingOf(launches, threadCount, known)) {
  for (size_t launch = 0; launch < program.size(); ++launch)
    if (program[launch].barrier || launch + 1 == program.size())
      groupEnds.push_back(launch + 1);
  for (uint64_t part = 0; part < uint64_t(threadCount) * kSplit; ++part)
    claims.push_back(std::make_unique<std::atomic<uint64_t>[]>(program.size()));
}

Result<std::unique_ptr<StepLoop>> StepLoop::create(std::span<const ResolvedLaunch> program,
                                                   int threads, std::byte *scratch,
                                                   uint64_t scratchStride, const ReadAhead *known) {
  std::unique_ptr<StepLoop> loop(new StepLoop(program, threads, scratch, scratchStride, known));
  auto pool = ThreadPool::create(
      loop->threadCount,
      [](void *self, int thread) { static_cast<StepLoop *>(self)->work(thread); }, loop.get());
  if (!pool)
    return pool.error();
  loop->pool = std::move(*pool);
  return loop;
}

void StepLoop::run(const BatchView *views, runtime::Trace *traceOrNull, uint64_t casesToRun) {
  assert(finished.load(std::memory_order_relaxed) == 0 && "the step before has not ended");
  const BatchView &view = *views;
  Step step{};
  step.count = ItemCounts(view);
  step.batch = views;
  step.trace = traceOrNull;
  step.cases = casesToRun;
  step.trial = reading.begin(view.tokens);
  step.number = version.load(std::memory_order_relaxed) / 2 + 1;
  step.firstGroup = groupsDone.value();
  if (threadCount > 1) {
    publish(step);
    pool->invite();
  } else {
    version.fetch_add(2, std::memory_order_relaxed);
  }
  traceOrNull ? runStep<true>(step, 0) : runStep<false>(step, 0);
}

void StepLoop::publish(const Step &step) {
  // Release and acquire on every field replace the fences of a seqlock: a reader that sees one new
  // value sees the odd version as well.
  uint64_t before = version.load(std::memory_order_relaxed);
  version.store(before + 1, std::memory_order_release);
  for (size_t i = 0; i < kItemCounts; ++i)
    count[i].store(step.count.of[i], std::memory_order_release);
  batch.store(step.batch, std::memory_order_release);
  trace.store(step.trace, std::memory_order_release);
  firstGroup.store(step.firstGroup, std::memory_order_release);
  cases.store(step.cases, std::memory_order_release);
  trial.store(step.trial, std::memory_order_release);
  version.store(before + 2, std::memory_order_release);
}

bool StepLoop::copyStep(Step &step) const {
  uint64_t before = version.load(std::memory_order_acquire);
  for (size_t i = 0; i < kItemCounts; ++i)
    step.count.of[i] = count[i].load(std::memory_order_acquire);
  step.batch = batch.load(std::memory_order_acquire);
  step.trace = trace.load(std::memory_order_acquire);
  step.firstGroup = firstGroup.load(std::memory_order_acquire);
  step.cases = cases.load(std::memory_order_acquire);
  step.trial = trial.load(std::memory_order_acquire);
  step.number = before / 2;
  return before % 2 == 0 && version.load(std::memory_order_relaxed) == before;
}

void StepLoop::work(int thread) {
  Step step;
  if (!copyStep(step))
    return; // another step is beginning, and its invitation follows
  step.trace ? runStep<true>(step, thread) : runStep<false>(step, thread);
}

uint64_t StepLoop::itemsOf(const Step &step, const ResolvedLaunch &launch) const {
  return launch.cases & step.cases ? step.count[launch.base] * launch.factor : 0;
}

/// No part is empty. The parts of thread t are [n * t / threads, n * (t + 1) / threads).
uint64_t StepLoop::partsOf(const Step &step, const ResolvedLaunch &launch) const {
  uint64_t split = step.count[fb::GridBase::Tokens] >= kLargeStep ? kSplit : 1;
  return std::min(itemsOf(step, launch), uint64_t(threadCount) * split);
}

template <bool Traced> void StepLoop::runStep(const Step &step, int thread) {
  uint32_t group = step.firstGroup;
  size_t first = 0;
  for (size_t end : groupEnds) {
    uint64_t target = 0;
    for (size_t launch = first; launch < end; ++launch)
      target += partsOf(step, program[launch]);
    if (target) { // otherwise the group has no parts; all threads skip it, since they compute the same target
      if (!groupsDone.passed(group))
        runGroup<Traced>(step, thread, first, end, uint32_t(target));
      if (!groupsDone.passed(group))
        groupsDone.await(group);
      ++group;
    }
    first = end;
  }
}

bool StepLoop::claim(const Step &step, size_t launch, uint64_t part) {
  std::atomic<uint64_t> &last = claims[part][launch];
  uint64_t seen = last.load(std::memory_order_relaxed);
  // Relaxed: data is ordered by groupsDone, which this thread has read.
  return seen < step.number &&
         last.compare_exchange_strong(seen, step.number, std::memory_order_relaxed);
}

template <bool Traced>
void StepLoop::runGroup(const Step &step, int thread, size_t first, size_t end, uint32_t target) {
  const uint64_t threads = uint64_t(threadCount);
  for (uint64_t turn = 0; turn < threads; ++turn) {
    uint64_t owner = (uint64_t(thread) + turn) % threads; // this thread, then the others
    for (size_t launch = first; launch < end; ++launch) {
      uint64_t parts = partsOf(step, program[launch]);
      uint64_t begin = parts * owner / threads, count = parts * (owner + 1) / threads - begin;
      for (uint64_t i = 0; i < count; ++i) {
        uint64_t part = begin + (turn == 0 ? i : count - 1 - i);
        if (!claim(step, launch, part))
          continue;
        runPart<Traced>(step, thread, launch, part, parts);
        if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 == target) {
          finished.store(0, std::memory_order_relaxed); // published by advance()
          groupsDone.advance();
          return;
        }
      }
    }
  }
}

template <bool Traced>
void StepLoop::runPart(const Step &step, int thread, size_t index, uint64_t part, uint64_t parts) {
  const ResolvedLaunch &launch = program[index];
  uint64_t items = itemsOf(step, launch);
  assert(part < parts && parts <= items && parts <= claims.size() && "no part is empty");
  bool cyclic = launch.partition == fb::Partition::Cyclic;
  uint64_t from = cyclic ? part : items * part / parts;
  uint64_t to = cyclic ? items : items * (part + 1) / parts;
  const bool timed = Traced || step.trial != ReadAhead::kNoTrial;
  const uint64_t begin = timed ? runtime::nowNanoseconds() : 0;
  launch.function(launch.args, step.batch + launch.view, int64_t(from), int64_t(to),
                  cyclic ? int64_t(parts) : 1,
                  reinterpret_cast<char *>(scratch + scratchStride * uint64_t(thread)),
                  reading.bytes(step.trial, int64_t(step.count[fb::GridBase::Tokens]), index));
  const uint64_t end = timed ? runtime::nowNanoseconds() : 0;
  if (step.trial != ReadAhead::kNoTrial)
    reading.took(step.trial, index, part, end - begin);
  if constexpr (Traced) {
    step.trace->countRoutes(index, step.batch->tokens);
    runtime::Stamp &stamp = step.trace->stampsOf(thread)[index];
    if (stamp.end == stamp.begin)
      stamp.begin = begin;
    stamp.end = end;
  }
}

} // namespace ingot::cpu
