//===- KernelBench.cpp - Times selected launches of a step on a GPU ----------===//
//
// The launches form a separate graph, which the device runs back to back between events. Graphs run
// in order and follow each other immediately: the first run, which is not timed, covers the time
// that the host takes to queue the rest.
//
//   run | event run run run run | event run run run run | event …
//===----------------------------------------------------------------------===//
#include "runtime/device/KernelBench.h"
#include "runtime/device/UniformRoutes.h"
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/engine/GpuMachine.h"

#include <algorithm>
#include <utility>

namespace ingot::cuda {

namespace {

/// Larger than any L2, so that a copy reads and writes memory.
constexpr uint64_t kCopied = uint64_t(512) << 20;
constexpr int kCopies = 8, kQueued = 9;

} // namespace

class KernelBench final : public runtime::KernelBench {
public:
  explicit KernelBench(CudaExecutor &executor) : executor(executor), driver(*executor.driver) {}
  ~KernelBench() override { drop(); }

  Result<void> prepare(const BatchView &batch) override;
  Launches launches(const Choice &choice) override;
  Result<std::vector<double>> time(const Choice &choice, int rounds, int runs) override;
  Result<std::optional<double>> hostSeconds() override;
  bool alive() override { return bool(driver.wait()); }
  Result<Limits> limits() override;

private:
  using Mode = fb::Mode;

  std::string symbolOf(uint32_t kernel, Kernel function) const;
  Result<void> take(const Choice &choice);
  Result<void> spreadRoutes();
  void drop();
  Result<Event> event(size_t index);
  Result<double> copySeconds(Address to, Address from, uint64_t bytes);

  CudaExecutor &executor;
  Driver &driver;
  BatchView batch{};
  StepShape shape;
  Mode mode = Mode::Logits;
  /// State of the last choice.
  std::optional<Choice> taken;
  Graph graph = nullptr;
  uint64_t copies = 1; ///< of the selected launches, in the graph
  std::vector<Event> events;
};

/// A decode step runs the graph of its bucket; other steps run launches with their own counts.
Result<void> KernelBench::prepare(const BatchView &view) {
  drop();
  batch = view;
  mode = batch.rows > 0 && executor.draws({}) ? Mode::Greedy : Mode::Logits;
  shape = StepShape::of(batch, executor.sharing);
  if (shape.decodes()) {
    const uint64_t bucket = bucketOf(shape.tokens);
    shape = StepShape::ofDecodes(bucket, std::min(bucket, executor.memoryPlan.limits.logitsRows),
                                 executor.sharing);
  }
  if (mode == Mode::Logits)
    return executor.step(batch);
  if (auto begun = executor.beginSampled(batch); !begun)
    return begun;
  auto ids = executor.endSampled();
  return ids ? Result<void>() : ids.error();
}

std::string KernelBench::symbolOf(uint32_t kernel, Kernel function) const {
  const auto &all = *executor.picked.code->variants()->Get(kernel)->variants();
  const std::vector<Kernel> &functions = executor.functions[kernel];
  return all[unsigned(std::ranges::find(functions, function) - functions.begin())]->symbol()->str();
}

KernelBench::Launches KernelBench::launches(const Choice &choice) {
  std::vector<GraphNode> nodes = executor.nodesOf(shape, mode, choice);
  Launches found{nodes.size(), "", false};
  for (const GraphNode &node : nodes)
    found.overlap |= node.launch.overlap;
  if (choice.only && !nodes.empty())
    found.variant = symbolOf(*choice.only, nodes.front().kernel);
  return found;
}

Result<void> KernelBench::take(const Choice &choice) {
  drop();
  const std::vector<GraphNode> once = executor.nodesOf(shape, mode, choice);
  copies = once.empty() ? 1 : (kLeastLaunches + once.size() - 1) / once.size();
  std::vector<GraphNode> nodes;
  std::vector<uint32_t> ends; // nodes that no other node of a copy waits for; the next copy waits
                              // for them
  for (uint64_t copy = 0; copy < copies; ++copy) {
    const auto first = uint32_t(nodes.size());
    std::vector<bool> waitedFor(once.size());
    for (GraphNode node : once) {
      if (node.after.empty())
        node.after = ends;
      else
        for (uint32_t &before : node.after) {
          waitedFor[before] = true;
          before += first;
        }
      nodes.push_back(std::move(node));
    }
    ends.clear();
    for (uint32_t i = 0; i < once.size(); ++i)
      if (!waitedFor[i])
        ends.push_back(first + i);
  }
  auto made = driver.createGraph(nodes);
  if (!made)
    return made.error();
  graph = *made;
  taken = choice;
  return {};
}

/// Writes routes like the routes that a router might compute, for launches that are timed in isolation. Other data may
/// have overwritten the routes of the last step, and need not be valid indices.
Result<void> KernelBench::spreadRoutes() {
  for (const CudaExecutor::PlannedLaunch &planned : executor.launches) {
    const fb::Kernel &kernel = *executor.picked.program->kernels()->Get(planned.kernel);
    if (!kernel.family() || kernel.family()->string_view() != "group_routes")
      continue;
    const std::vector<std::byte> routes =
        runtime::uniformRoutes(kernel.experts(), kernel.experts_used(), batch.tokens);
    const Address to = *static_cast<const Address *>(planned.arguments.front()[0]);
    if (auto ok = driver.copyToDevice(to, routes.data(), routes.size()); !ok)
      return ok;
    if (auto done = driver.wait(); !done) // the copy reads `routes`
      return done;
  }
  return {};
}

void KernelBench::drop() {
  if (taken)
    driver.release(graph);
  taken.reset();
}

Result<Event> KernelBench::event(size_t index) {
  while (events.size() <= index) {
    auto made = driver.createEvent();
    if (!made)
      return made.error();
    events.push_back(*made);
  }
  return events[index];
}

Result<std::vector<double>> KernelBench::time(const Choice &choice, int rounds, int runs) {
  if (!taken || *taken != choice)
    if (auto made = take(choice); !made)
      return made.error();
  if (choice.only)
    if (auto spread = spreadRoutes(); !spread)
      return spread.error();
  auto last = event(size_t(rounds));
  if (!last)
    return last.error();
  if (auto ran = driver.launch(graph); !ran)
    return ran.error();
  for (int round = 0; round <= rounds; ++round) {
    if (auto ok = driver.record(events[size_t(round)]); !ok)
      return ok.error();
    for (int i = 0; i < runs && round < rounds; ++i)
      if (auto ran = driver.launch(graph); !ran)
        return ran.error();
  }
  if (auto done = driver.wait(); !done)
    return done.error();
  std::vector<double> seconds;
  for (size_t round = 0; round < size_t(rounds); ++round) {
    auto all = driver.secondsBetween(events[round], events[round + 1]);
    if (!all)
      return all.error();
    seconds.push_back(*all / double(runs) / double(copies));
  }
  return seconds;
}

Result<std::optional<double>> KernelBench::hostSeconds() {
  std::vector<double> seconds;
  for (int i = 0; i < kQueued; ++i) {
    const uint64_t begin = runtime::nowNanoseconds();
    if (auto queued = executor.queueStep(batch, mode, executor.flights[0].batch.data()); !queued)
      return queued.error();
    seconds.push_back(double(runtime::nowNanoseconds() - begin) * 1e-9);
    if (auto done = driver.wait(); !done) // the next iteration writes the batch's memory again
      return done.error();
  }
  std::nth_element(seconds.begin(), seconds.begin() + kQueued / 2, seconds.end());
  return std::optional(seconds[kQueued / 2]);
}

Result<double> KernelBench::copySeconds(Address to, Address from, uint64_t bytes) {
  auto last = event(1);
  if (!last)
    return last.error();
  for (int i = 0; i <= kCopies; ++i) { // the first one is a warm-up
    if (i == 1)
      if (auto ok = driver.record(events[0]); !ok)
        return ok.error();
    if (auto ok = driver.copyOnDevice(to, from, bytes); !ok)
      return ok.error();
  }
  if (auto ok = driver.record(*last); !ok)
    return ok.error();
  if (auto ok = driver.wait(); !ok)
    return ok.error();
  auto all = driver.secondsBetween(events[0], events[1]);
  return all ? Result<double>(*all / kCopies) : all.error();
}

/// Measures memory bandwidth with copies, which read and write. If there is no room for copies, it uses
/// the bandwidth that GpuMachine has for the architecture. The arithmetic rates always come from
/// GpuMachine. The emulator has no limits.
Result<KernelBench::Limits> KernelBench::limits() {
  if (executor.target().starts_with("cuda-emulator"))
    return Limits{};
  const DeviceInfo &device = driver.device();
  const runtime::GpuMachine &machine = runtime::gpuMachine(device.capability);
  auto gops = [&](double perClock) { return machine.gops(perClock, device.processors); };
  Limits limits{.readGbPerS = machine.readGbPerS(),
                .bf16Gflops = gops(machine.bf16PerClock),
                .fp8Gflops = gops(machine.fp8PerClock),
                .f32Gflops = gops(machine.f32PerClock)};
  auto to = DeviceMemory::allocate(driver, kCopied, "copies"),
       from = DeviceMemory::allocate(driver, kCopied, "copies");
  if (!to || !from)
    return limits;
  auto seconds = copySeconds(to->address(), from->address(), kCopied);
  if (!seconds)
    return seconds.error();
  if (*seconds > 0)
    limits.readGbPerS = 2.0 * double(kCopied) / *seconds * 1e-9;
  return limits;
}

std::unique_ptr<runtime::KernelBench> CudaExecutor::kernelBench() {
  return std::make_unique<KernelBench>(*this);
}

} // namespace ingot::cuda
