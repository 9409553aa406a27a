//===- CudaExecutor.cpp - Steps, graphs, traces ---------------------------===//
//
// Runs steps. Allocating memory and resolving the program: CudaExecutorCreate.cpp.
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaExecutor.h"

#include "runtime/abi/Routes.h"
#include "runtime/device/UniformRoutes.h"
#include "runtime/device/cuda/BatchImage.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ingot::cuda {

using std::to_string;

ChosenVariants CudaExecutor::variantsOf(const PlannedLaunch &planned,
                                        const StepShape &shape) const {
  return variantsFor(*picked.code->variants()->Get(planned.kernel), shape);
}

/// Returns the variant's node in a step of that shape, without dependencies.
GraphNode CudaExecutor::nodeOf(const PlannedLaunch &planned, uint32_t variant,
                               const StepShape &shape) const {
  const fb::KernelVariants &variants = *picked.code->variants()->Get(planned.kernel);
  const std::optional<Launch> possible = launchOf(*variants.variants()->Get(variant), shape);
  assert(possible && "checkGrids() has tried the largest step");
  Launch launch = *possible;
  launch.overlap &= gpu.edges == GpuEdges::Programmatic;
  return {functions[planned.kernel][variant], launch, planned.arguments[variant], {}};
}

static runtime::StepCounts countsOf(const StepShape &shape, fb::Mode mode) {
  return {mode, shape.tokens, shape.rows, shape.tileTokens};
}

static bool isEmpty(const Launch &launch) {
  return launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0;
}

std::vector<GraphNode> CudaExecutor::nodesOf(const StepShape &shape, Mode mode,
                                             const runtime::KernelBench::Choice &choice) const {
  std::vector<GraphNode> nodes;
  std::vector<uint32_t> before, group; // the group before this one, and this one
  for (const PlannedCase &one : cases)
    for (size_t i = one.first; i < one.end && one.runsIn(countsOf(shape, mode)); ++i) {
      const PlannedLaunch &planned = launches[i];
      for (uint32_t variant : variantsOf(planned, shape)) {
        GraphNode node = nodeOf(planned, variant, shape);
        node.after = before;
        node.launch.overlap &= choice.overlap;
        const bool wanted = choice.has(planned.kernel) ||
                            (choice.without &&
                             runtime::findsRoutes(*picked.program->kernels()->Get(planned.kernel)));
        if (!isEmpty(node.launch) && wanted) {
          group.push_back(uint32_t(nodes.size()));
          nodes.push_back(std::move(node));
        }
      }
      if (planned.barrier && !group.empty())
        before = std::exchange(group, {});
    }
  return nodes;
}

Result<Graph> CudaExecutor::graphFor(uint64_t bucket, Mode mode) {
  if (auto found = graphOfBucket.find({bucket, mode}); found != graphOfBucket.end())
    return found->second;
  const StepShape shape = StepShape::ofDecodes(
      bucket, std::min<uint64_t>(bucket, memoryPlan.limits.logitsRows), sharing);
  Result<Graph> graph = driver->createGraph(nodesOf(shape, mode));
  if (graph)
    graphOfBucket.emplace(std::pair(bucket, mode), *graph);
  return graph;
}

bool CudaExecutor::prepareAhead() {
  while (!graphsToMake.empty() && !tracing) {
    const auto [bucket, mode] = graphsToMake.back();
    graphsToMake.pop_back();
    if (graphOfBucket.contains({bucket, mode}))
      continue;
    if (graphFor(bucket, mode))
      return true;
    graphsToMake.clear(); // a step that needs a graph reports why it cannot be built
  }
  return false;
}

Result<void> CudaExecutor::launchAll(const StepShape &shape, Mode mode) {
  bool first = true; // the first launch follows a copy, with which it cannot overlap
  auto launchOne = [&](size_t i) -> Result<void> {
    for (uint32_t variant : variantsOf(launches[i], shape)) {
      auto [function, launch, operandsOf, after] = nodeOf(launches[i], variant, shape);
      if (isEmpty(launch))
        continue;
      launch.overlap = launch.overlap && !first && !tracing;
      first = false;
      if (tracing)
        launched[i] = true;
      if (auto ok = driver->launch(function, launch, operandsOf); !ok)
        return ok;
    }
    return {};
  };
  for (const PlannedCase &one : cases) {
    const bool runs = one.runsIn(countsOf(shape, mode));
    for (size_t i = one.first; i < one.end && (runs || tracing); ++i) {
      if (tracing) {
        launched[i] = false;
        if (auto ok = driver->record(events[i]); !ok)
          return ok;
      }
      if (auto ok = runs ? launchOne(i) : Result<void>(); !ok)
        return ok;
      if (tracing && runs)
        if (auto ok = copySegments(i, int64_t(shape.tokens)); !ok)
          return ok;
    }
  }
  return tracing ? driver->record(events[launches.size()]) : Result<void>();
}

/// Clears keys that earlier steps left raised: kernels that compute logits raise the keys of their
/// rows in every step, but only the launches that find tokens reset them.
Result<void> CudaExecutor::prepareKeys(Mode mode, uint64_t rows) {
  const fb::Output *keys = runtime::outputOf(entry(), fb::OutputRole::Keys);
  if (!keys)
    return {};
  if (mode == Mode::Logits) {
    keysRaised |= rows > 0;
    return {};
  }
  if (!std::exchange(keysRaised, false))
    return {};
  return driver->clear(bufferAddress(keys->buffer()),
                       picked.program->buffers()->Get(keys->buffer())->per_unit() *
                           memoryPlan.limits.logitsRows);
}

/// Puts the step into the driver's queue. `image`: page-locked, `memoryPlan.batch` bytes; must not
/// be written until the step is done.
Result<void> CudaExecutor::queueStep(const BatchView &batch, Mode mode, std::byte *image) {
  if (moveFailed)
    return *moveFailed;
  const runtime::MemoryLimits &limits = memoryPlan.limits;
  BatchView view = batch;
  if (runsAhead())
    view.earlierIds =
        reinterpret_cast<const int32_t *>(bufferAddress(bufferOf(fb::OutputRole::Ids)));
  uint64_t bytes = 0;
  if (batch.tokens >= 0 && uint64_t(batch.tokens) <= limits.maxBatchTokens && batch.rows >= 0 &&
      uint64_t(batch.rows) <= limits.logitsRows)
    bytes = packBatch(view, sharing, batchMemory.address(), {image, memoryPlan.batch},
                      memoryPlan.groups.size());
  if (bytes == 0)
    return Error{ExitCode::Internal, "E0901", "a batch exceeds the executor's limits",
                 to_string(batch.tokens) + " tokens of " + to_string(limits.maxBatchTokens) + ", " +
                     to_string(batch.rows) + " rows of " + to_string(limits.logitsRows),
                 "please report this"};
  if (batch.tokens == 0)
    return {};
  if (auto ok = driver->copyToDevice(batchMemory.address(), image, bytes); !ok)
    return ok;
  StepShape shape = StepShape::of(batch, sharing);
  if (auto ok = prepareKeys(mode, shape.rows); !ok)
    return ok;
  if (!gpu.graphs || !shape.decodes() || shape.rows > shape.tokens || tracing)
    return launchAll(shape, mode);
  auto graph = graphFor(bucketOf(shape.tokens), mode);
  return graph ? driver->launch(*graph) : Result<void>(graph.error());
}

Result<void> CudaExecutor::step(const BatchView &batch) {
  assert(begun == ended && "steps are under way");
  if (auto ok = queueStep(batch, Mode::Logits, flights[0].batch.data()); !ok)
    return ok;
  if (batch.rows > 0)
    if (auto ok =
            driver->copyToHost(logitsRows.data(), bufferAddress(bufferOf(fb::OutputRole::Logits)),
                               uint64_t(batch.rows * logitsRowStride) * sizeof(float));
        !ok)
      return ok;
  if (auto ok = driver->wait(); !ok)
    return ok;
  return tracing && batch.tokens ? collectTimes(batch.tokens) : Result<void>();
}

Result<void> CudaExecutor::beginSampled(const BatchView &batch) {
  assert(begun - ended < (runsAhead() ? 2 : 1) && "too many steps are under way");
  Flight &flight = flights[begun % 2];
  Mode mode = batch.sampling ? Mode::Drawn : Mode::Greedy;
  if (auto ok = queueStep(batch, mode, flight.batch.data()); !ok)
    return ok;
  flight.rows = size_t(batch.rows);
  if (batch.rows > 0)
    if (auto ok =
            driver->copyToHost(flight.ids.data(), bufferAddress(bufferOf(fb::OutputRole::Ids)),
                               flight.rows * sizeof(int32_t));
        !ok)
      return ok;
  if (auto ok = driver->record(flight.done); !ok)
    return ok;
  ++begun;
  tracedTokens = tracing ? batch.tokens : 0;
  return {};
}

Result<std::span<const int32_t>> CudaExecutor::endSampled() {
  assert(ended < begun && "no step is under way");
  Flight &flight = flights[ended++ % 2];
  if (auto ok = driver->wait(flight.done); !ok)
    return ok.error();
  if (tracing && tracedTokens)
    if (auto ok = collectTimes(tracedTokens); !ok)
      return ok.error();
  return std::span(reinterpret_cast<const int32_t *>(flight.ids.data()), flight.rows);
}

uint64_t CudaExecutor::pageBytes(size_t group) const {
  return group < memoryPlan.groups.size() ? memoryPlan.groups[group].pageBytes
                                          : memoryPlan.slotBytes;
}

template <typename Move> void CudaExecutor::forStates(size_t group, int32_t page, Move move) {
  assert(page >= 0 &&
         uint64_t(page) < (group < memoryPlan.groups.size() ? memoryPlan.groups[group].pages
                                                            : memoryPlan.slots) &&
         "the group has no such page");
  for (size_t i = 0; i < kvOffset.size() && !moveFailed; ++i) {
    if (memoryPlan.groupOf[i] != group)
      continue;
    const fb::State &state = *picked.program->states()->Get(flatbuffers::uoffset_t(i));
    const uint64_t bytes = state.page_bytes() + state.slot_bytes(); // one of them is 0
    if (auto moved = move(stateAddress(i) + bytes * uint64_t(page), bytes); !moved)
      moveFailed = moved.error();
  }
}

void CudaExecutor::copy(size_t group, int32_t from, int32_t to) {
  const auto distance = Address(int64_t(to) - int64_t(from));
  forStates(group, from, [&](Address at, uint64_t bytes) {
    return driver->copyOnDevice(at + distance * bytes, at, bytes);
  });
}

void CudaExecutor::save(size_t group, int32_t page, std::byte *to) {
  forStates(group, page, [&](Address at, uint64_t bytes) {
    return driver->copyToHost(std::exchange(to, to + bytes), at, bytes);
  });
  // The copy must be complete before the page is loaded again. The wait costs little: the sequence has
  // just been preempted.
  if (auto done = driver->wait(); !done && !moveFailed)
    moveFailed = done.error();
}

void CudaExecutor::load(size_t group, const std::byte *from, int32_t page) {
  forStates(group, page, [&](Address at, uint64_t bytes) {
    return driver->copyToDevice(at, std::exchange(from, from + bytes), bytes);
  });
  if (auto done = driver->wait(); !done && !moveFailed) // the host's memory may be reused
    moveFailed = done.error();
}

/// Returns the size in bytes of a routes buffer from its count to its end, if `experts` experts have rows.
static uint64_t segmentBytes(int64_t experts) {
  const RoutesLayout layout{0};
  return uint64_t(layout.segments() - layout.count()) + uint64_t(experts) * sizeof(RouteSegment);
}

void CudaExecutor::startTrace(bool keepEvents) {
  std::vector<std::string> names;
  for (const fb::Kernel *kernel : *picked.program->kernels())
    names.push_back(kernel->name()->str());
  std::vector<runtime::Trace::LaunchInfo> list;
  for (const PlannedLaunch &launch : launches)
    list.push_back({launch.kernel, launch.layer});
  while (events.size() <= launches.size()) {
    auto event = driver->createEvent();
    if (!event)
      return; // a device that fails here fails in a step as well, which reports it
    events.push_back(*event);
  }
  for (size_t i = 0; i < launches.size(); ++i) {
    const fb::Kernel &kernel = *picked.program->kernels()->Get(launches[i].kernel);
    if (watched.contains(i) || !kernel.family() || kernel.family()->string_view() != "group_routes")
      continue;
    auto grouped = driver->createEvent();
    auto memory = PinnedMemory::allocate(*driver, segmentBytes(kernel.experts()));
    if (!grouped || !memory)
      return; // as above
    watched.emplace(i, WatchedRoutes{*grouped, std::move(*memory)});
  }
  launched.assign(launches.size(), false);
  tracedTokens = 0; // a step under way was not recorded
  tracing = std::make_unique<runtime::Trace>(std::move(names), std::move(list), 1, keepEvents);
  for (const auto &[launch, routes] : watched) {
    const fb::Kernel &kernel = *picked.program->kernels()->Get(launches[launch].kernel);
    tracing->watchRoutes(launch, nullptr, kernel.experts(), kernel.experts_used());
  }
}

/// Copies the count and the segments of the routes to the host, if the launch groups routes.
Result<void> CudaExecutor::copySegments(size_t launch, int64_t tokens) {
  auto found = watched.find(launch);
  if (found == watched.end())
    return {};
  const fb::Kernel &kernel = *picked.program->kernels()->Get(launches[launch].kernel);
  const RoutesLayout layout{tokens * kernel.experts_used()};
  const auto rows = std::min(layout.pairs, int64_t(kernel.experts())); // at most this many segments
  const Address routes = *static_cast<const Address *>(launches[launch].arguments.front()[0]);
  if (auto ok = driver->record(found->second.grouped); !ok)
    return ok;
  return driver->copyToHost(found->second.segments.data(), routes + uint64_t(layout.count()),
                            segmentBytes(rows));
}

/// Uses the device's own times, placed one after the other so that the last launch ends now.
Result<void> CudaExecutor::collectTimes(int64_t tokens) {
  auto whole = driver->secondsBetween(events.front(), events.back());
  if (!whole)
    return whole.error();
  double end = double(runtime::nowNanoseconds()) - *whole * 1e9;
  for (size_t i = 0; i < launches.size(); ++i) {
    auto seconds = driver->secondsBetween(events[i], events[i + 1]);
    if (!seconds)
      return seconds.error();
    double begin = end, own = *seconds;
    end += *seconds * 1e9;
    if (!launched[i])
      continue;
    if (auto found = watched.find(i); found != watched.end()) {
      auto grouping = driver->secondsBetween(events[i], found->second.grouped);
      if (!grouping)
        return grouping.error();
      own = *grouping;
      tracing->countSegments(i, found->second.segments.data());
    }
    const double ended = begin + own * 1e9;
    tracing->stampsOf(0)[i] = {uint64_t(begin), std::max(uint64_t(ended), uint64_t(begin) + 1)};
  }
  tracing->collect(tokens);
  return {};
}

} // namespace ingot::cuda
