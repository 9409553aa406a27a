//===- Executor.cpp - Steps, graphs, traces ---------------------------------===//
//
// What a step does. Taking memory and resolving the program: ExecutorCreate.cpp.
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/Executor.h"

#include "runtime/device/cuda/BatchImage.h"

#include <algorithm>
#include <utility>

namespace ingot::cuda {

using std::to_string;

const fb::Variant &Executor::variantOf(uint32_t kernel, const StepShape &shape,
                                       Kernel &function) const {
  const fb::KernelVariants &variants = *picked.code->variants()->Get(kernel);
  uint32_t index = variantFor(variants, shape);
  function = functions[kernel][index];
  return *variants.variants()->Get(index);
}

static bool isEmpty(const Launch &launch) {
  return launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0;
}

Result<Graph> Executor::graphFor(uint64_t bucket, bool greedy) {
  if (auto found = graphOfBucket.find({bucket, greedy}); found != graphOfBucket.end())
    return found->second;
  StepShape shape{bucket, std::min<uint64_t>(bucket, statement.limits.logitsRows), bucket, 1};
  std::vector<GraphNode> nodes;
  std::vector<uint32_t> before, group; // the group before this one, and this one
  for (const PlannedLaunch &planned :
       std::span(launches).first(greedy ? launches.size() : greedyFrom)) {
    GraphNode node{};
    node.launch = *launchOf(variantOf(planned.kernel, shape, node.kernel), shape); // checkGrids()
    node.arguments = planned.arguments;
    node.after = before;
    if (!isEmpty(node.launch)) {
      group.push_back(uint32_t(nodes.size()));
      nodes.push_back(std::move(node));
    }
    if (planned.barrier && !group.empty())
      before = std::exchange(group, {});
  }
  Result<Graph> graph = driver->createGraph(nodes);
  if (graph)
    graphOfBucket.emplace(std::pair(bucket, greedy), *graph);
  return graph;
}

Result<void> Executor::launchAll(const StepShape &shape, bool greedy) {
  bool first = true; // behind a copy there is nothing to overlap with
  for (size_t i = 0; i < launches.size(); ++i) {
    const PlannedLaunch &planned = launches[i];
    Kernel function;
    Launch launch = *launchOf(variantOf(planned.kernel, shape, function), shape);
    bool wanted = !isEmpty(launch) && (greedy || i < greedyFrom);
    if (tracing) {
      launched[i] = wanted;
      if (auto ok = driver->record(events[i]); !ok)
        return ok;
    }
    if (!wanted)
      continue;
    launch.overlap = launch.overlap && !first && !tracing;
    first = false;
    if (auto ok = driver->launch(function, launch, planned.arguments); !ok)
      return ok;
  }
  return tracing ? driver->record(events.back()) : Result<void>();
}

Result<std::span<const int32_t>> Executor::greedyStep(const BatchView &batch) {
  if (auto ok = run(batch, /*greedy=*/true); !ok)
    return ok.error();
  return std::span(reinterpret_cast<const int32_t *>(logitsRows.data()), size_t(batch.rows));
}

/// Kernels that make logits raise the keys of their rows in every step, and only the greedy section
/// sets them back: other steps leave them raised.
Result<void> Executor::prepareKeys(bool greedy, uint64_t rows) {
  const fb::Engine &table = *picked.program;
  if (table.greedy_keys() < 0)
    return {};
  if (!greedy) {
    keysRaised |= rows > 0;
    return {};
  }
  if (!std::exchange(keysRaised, false))
    return {};
  const fb::Buffer &keys = *table.buffers()->Get(unsigned(table.greedy_keys()));
  return driver->clear(bufferAddress(size_t(table.greedy_keys())),
                       keys.per_unit() * statement.limits.logitsRows);
}

Result<void> Executor::run(const BatchView &batch, bool greedy) {
  const runtime::MemoryLimits &limits = statement.limits;
  uint64_t bytes = 0;
  if (batch.tokens >= 0 && uint64_t(batch.tokens) <= limits.maxBatchTokens && batch.rows >= 0 &&
      uint64_t(batch.rows) <= limits.logitsRows)
    bytes = packBatch(batch, batchMemory.address(), {batchImage.data(), batchImage.size()});
  if (bytes == 0)
    return Error{ExitCode::Internal, "E0901", "a batch exceeds the executor's limits",
                 to_string(batch.tokens) + " tokens of " + to_string(limits.maxBatchTokens) + ", " +
                     to_string(batch.rows) + " rows of " + to_string(limits.logitsRows),
                 "please report this"};
  if (batch.tokens == 0)
    return {};
  if (auto ok = driver->copyToDevice(batchMemory.address(), batchImage.data(), bytes); !ok)
    return ok;

  StepShape shape = StepShape::of(batch);
  if (auto ok = prepareKeys(greedy, shape.rows); !ok)
    return ok;
  if (shape.decodes() && shape.rows <= shape.tokens && !tracing) {
    auto graph = graphFor(bucketOf(shape.tokens), greedy);
    if (!graph)
      return graph.error();
    if (auto ok = driver->launch(*graph); !ok)
      return ok;
  } else if (auto ok = launchAll(shape, greedy); !ok) {
    return ok;
  }

  if (batch.rows > 0) {
    const fb::Engine &table = *picked.program;
    Address from = bufferAddress(greedy ? table.greedy_ids() : table.logits_buffer());
    uint64_t rowBytes = greedy ? sizeof(int32_t) : uint64_t(logitsRowStride) * sizeof(float);
    if (auto ok = driver->copyToHost(logitsRows.data(), from, shape.rows * rowBytes); !ok)
      return ok;
  }
  if (auto ok = driver->wait(); !ok)
    return ok;
  return tracing ? collectTimes(batch.tokens) : Result<void>();
}

void Executor::startTrace(bool keepEvents) {
  std::vector<std::string> names;
  for (const fb::Kernel *kernel : *picked.program->kernels())
    names.push_back(kernel->name()->str());
  std::vector<runtime::Trace::LaunchInfo> list;
  for (const PlannedLaunch &launch : launches)
    list.push_back({launch.kernel, launch.layer});
  while (events.size() <= launches.size()) {
    auto event = driver->createEvent();
    if (!event)
      return; // a device that cannot do this cannot do a step either: that one reports it
    events.push_back(*event);
  }
  launched.assign(launches.size(), false);
  tracing = std::make_unique<runtime::Trace>(std::move(names), std::move(list), 1, keepEvents);
}

/// The device's own times, put behind each other so that the last launch ends now.
Result<void> Executor::collectTimes(int64_t tokens) {
  auto whole = driver->secondsBetween(events.front(), events.back());
  if (!whole)
    return whole.error();
  double end = double(runtime::nowNanoseconds()) - *whole * 1e9;
  for (size_t i = 0; i < launches.size(); ++i) {
    auto seconds = driver->secondsBetween(events[i], events[i + 1]);
    if (!seconds)
      return seconds.error();
    double begin = end;
    end += *seconds * 1e9;
    if (launched[i])
      tracing->stampsOf(0)[i] = {uint64_t(begin), std::max(uint64_t(end), uint64_t(begin) + 1)};
  }
  tracing->collect(tokens);
  return {};
}

} // namespace ingot::cuda
