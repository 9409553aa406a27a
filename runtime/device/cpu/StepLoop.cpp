//===- StepLoop.cpp - Claiming and running parts ---------------------------===//
#include "runtime/device/cpu/StepLoop.h"

#include <algorithm>

namespace ingot::cpu {

StepLoop::StepLoop(std::span<const ResolvedLaunch> launches, int threads, std::byte *scratchBase,
                   uint64_t stride)
    : program(launches), parts(std::max(1, threads)), scratch(scratchBase), scratchStride(stride) {
  for (size_t launch = 0; launch < program.size(); ++launch)
    if (program[launch].barrier || launch + 1 == program.size())
      groupEnds.push_back(launch + 1);
  for (int part = 0; part < parts; ++part)
    claims.push_back(std::make_unique<std::atomic<uint32_t>[]>(program.size()));
}

Result<std::unique_ptr<StepLoop>> StepLoop::create(std::span<const ResolvedLaunch> program,
                                                   int threads, std::byte *scratch,
                                                   uint64_t scratchStride) {
  std::unique_ptr<StepLoop> loop(new StepLoop(program, threads, scratch, scratchStride));
  auto pool = ThreadPool::create(
      loop->parts, [](void *self, int thread) { static_cast<StepLoop *>(self)->work(thread); },
      loop.get());
  if (!pool)
    return pool.error();
  loop->pool = std::move(*pool);
  return loop;
}

void StepLoop::run(const BatchView &view, runtime::Trace *traceOrNull) {
  Step step{};
  step.count[size_t(fb::GridBase::Constant)] = view.tokens ? 1 : 0;
  step.count[size_t(fb::GridBase::Tokens)] = uint64_t(view.tokens);
  step.count[size_t(fb::GridBase::Rows)] = uint64_t(view.rows);
  step.count[size_t(fb::GridBase::Tiles)] = uint64_t(view.tiles);
  step.batch = &view;
  step.trace = traceOrNull;
  step.number = uint32_t(version.load(std::memory_order_relaxed) / 2 + 1);
  step.firstGroup = groupsDone.value();
  if (parts > 1) {
    publish(step);
    pool->invite();
  } else {
    version.fetch_add(2, std::memory_order_relaxed);
  }
  traceOrNull ? runStep<true>(step, 0) : runStep<false>(step, 0);
}

void StepLoop::publish(const Step &step) {
  // Releases and acquires on every field stand for the fences of a seqlock: who
  // reads one new value sees the odd version as well.
  uint64_t before = version.load(std::memory_order_relaxed);
  version.store(before + 1, std::memory_order_release);
  for (size_t base = 0; base < 4; ++base)
    count[base].store(step.count[base], std::memory_order_release);
  batch.store(step.batch, std::memory_order_release);
  trace.store(step.trace, std::memory_order_release);
  firstGroup.store(step.firstGroup, std::memory_order_release);
  version.store(before + 2, std::memory_order_release);
}

bool StepLoop::copyStep(Step &step) const {
  uint64_t before = version.load(std::memory_order_acquire);
  for (size_t base = 0; base < 4; ++base)
    step.count[base] = count[base].load(std::memory_order_acquire);
  step.batch = batch.load(std::memory_order_acquire);
  step.trace = trace.load(std::memory_order_acquire);
  step.firstGroup = firstGroup.load(std::memory_order_acquire);
  step.number = uint32_t(before / 2);
  return before % 2 == 0 && version.load(std::memory_order_relaxed) == before;
}

void StepLoop::work(int thread) {
  Step step;
  if (!copyStep(step))
    return; // another step begins: its invitation follows
  step.trace ? runStep<true>(step, thread) : runStep<false>(step, thread);
}

/// Parts with items: the first ones may be empty if there are fewer items than threads.
uint64_t StepLoop::partsOf(const Step &step, const ResolvedLaunch &launch) const {
  return std::min(step.count[size_t(launch.base)] * launch.factor, uint64_t(parts));
}

template <bool Traced> void StepLoop::runStep(const Step &step, int thread) {
  uint32_t group = step.firstGroup;
  size_t first = 0;
  for (size_t end : groupEnds) {
    uint64_t target = 0;
    for (size_t launch = first; launch < end; ++launch)
      target += partsOf(step, program[launch]);
    if (target) { // else there is nothing to do, and all threads know
      if (!groupsDone.passed(group))
        runGroup<Traced>(step, thread, first, end, uint32_t(target));
      if (!groupsDone.passed(group))
        groupsDone.await(group);
      ++group;
    }
    first = end;
  }
}

bool StepLoop::claim(const Step &step, size_t launch, int part) {
  std::atomic<uint32_t> &last = claims[size_t(part)][launch];
  uint32_t seen = last.load(std::memory_order_relaxed);
  // Relaxed: data is ordered by groupsDone, which this thread has read.
  return int32_t(seen - step.number) < 0 &&
         last.compare_exchange_strong(seen, step.number, std::memory_order_relaxed);
}

template <bool Traced>
void StepLoop::runGroup(const Step &step, int thread, size_t first, size_t end, uint32_t target) {
  const uint64_t threadCount = uint64_t(parts);
  auto *own = reinterpret_cast<char *>(scratch + scratchStride * uint64_t(thread));
  for (int turn = 0; turn < parts; ++turn) {
    int part = (thread + turn) % parts; // the own one, then what others have not begun
    for (size_t i = first; i < end; ++i) {
      const ResolvedLaunch &launch = program[i];
      uint64_t items = step.count[size_t(launch.base)] * launch.factor;
      bool cyclic = launch.partition == fb::Partition::Cyclic;
      uint64_t from = cyclic ? uint64_t(part) : items * uint64_t(part) / threadCount;
      uint64_t to = cyclic ? items : items * (uint64_t(part) + 1) / threadCount;
      if (from >= to || !claim(step, i, part))
        continue;
      uint64_t begin = Traced ? runtime::nowNanoseconds() : 0;
      launch.function(launch.args, step.batch, int64_t(from), int64_t(to),
                      cyclic ? int64_t(threadCount) : 1, own);
      if constexpr (Traced) {
        runtime::Stamp &stamp = step.trace->stampsOf(thread)[i];
        if (stamp.end == stamp.begin)
          stamp.begin = begin;
        stamp.end = runtime::nowNanoseconds();
      }
      if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 == target) {
        finished.store(0, std::memory_order_relaxed); // published by advance()
        groupsDone.advance();
        return;
      }
    }
  }
}

} // namespace ingot::cpu
