//===- SessionOpen.cpp - From a path and limits to a session --------------===//
#include "runtime/session/EngineCost.h"
#include "runtime/session/SessionImpl.h"

#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/engine/GpuTarget.h"
#include "runtime/engine/Isa.h"

#include <algorithm>
#include <new>

namespace ingot::runtime {

namespace {

Result<void> checkOptions(const SessionOptions &options, const fb::Engine &table) {
  int64_t modelContext = table.model()->context();
  if (options.context < 0 || options.context > modelContext)
    return badLimit("the context is out of range",
                    "--context " + std::to_string(options.context) + "; the model supports 1 to " +
                        std::to_string(modelContext) + " positions",
                    "give --context " + std::to_string(modelContext) + " or less");
  constexpr int64_t kMost = int64_t(1) << 20;
  struct {
    const char *flag;
    int64_t value, least;
  } const ranges[] = {{"--max-seqs", options.maxSeqs, 1},
                      {"--max-batch-tokens", options.maxBatchTokens, 0},
                      {"logits rows", options.logitsRows, 0},
                      {"--threads", options.threads, 0},
                      {"prefill chunk", options.prefillChunk, 0}};
  for (auto [what, seconds] : {std::pair("the ITL target", options.targetItl),
                               std::pair("the TTFT target", options.targetTtft)})
    if (!(seconds >= 0))
      return badLimit("a target is out of range",
                      std::string(what) + " is " + std::to_string(seconds) + " seconds",
                      "give 0 for none, or seconds");
  for (const auto &range : ranges)
    if (range.value < range.least || range.value > kMost)
      return badLimit("a limit is out of range",
                      std::string(range.flag) + " is " + std::to_string(range.value) +
                          ", allowed: " + std::to_string(range.least) + " to " +
                          std::to_string(kMost),
                      std::string("give another value for ") + range.flag);
  if (!options.device.empty() && !deviceNamed(options.device))
    return badLimit("unknown device", "--device " + options.device,
                    "give --device " + deviceNames());
  if (!options.isa.empty() && !isaLevelNamed(options.isa))
    return badLimit("unknown instruction set level", "--isa " + options.isa,
                    "levels are " + isaNames("and"));
  return {};
}

MemoryLimits memoryLimits(const SessionOptions &options, const fb::Engine &table) {
  MemoryLimits limits;
  limits.maxSeqs = uint64_t(options.maxSeqs);
  limits.maxBatchTokens =
      uint64_t(options.maxBatchTokens ? options.maxBatchTokens : kDefaultBatchTokens);
  limits.maxBatchTokens = std::max(limits.maxBatchTokens, limits.maxSeqs);
  limits.logitsRows = uint64_t(std::max(options.logitsRows, options.maxSeqs));
  limits.threads = uint64_t(options.threads ? options.threads : cpu::usableProcessors());
  if (options.kvMemoryBytes)
    limits.kvBytes = options.kvMemoryBytes;
  limits.swapBytes = options.swapBytes;
  limits.context = uint64_t(options.context);
  if (options.context == 0)
    limits.context = std::min<uint64_t>(table.model()->context(), kDefaultContext);
  return limits;
}

} // namespace

/// Returns the device that the user chose, otherwise the CPU if the engine has code for it.
Device deviceOf(const SessionOptions &options, const fb::Engine &engine) {
  if (auto chosen = deviceNamed(options.device))
    return *chosen;
  const fb::Program &first = *engine.programs()->Get(0);
  if (deviceKind(first) == DeviceKind::Cpu)
    return Device::Cpu;
  for (const fb::CodeObject *code : *first.code())
    if (gpuTargetNamed(code->target()->string_view())->kind != GpuTarget::Kind::Emulator)
      return Device::Cuda;
  return Device::CudaEmulator;
}

Result<uint64_t> kvNeed(const std::string &path, const SessionOptions &options) {
  auto file = EngineFile::open(path);
  if (!file)
    return file.error();
  const fb::Engine &table = (*file)->table();
  if (auto checked = checkOptions(options, table); !checked)
    return checked.error();
  if (deviceOf(options, table) != Device::Cpu)
    return uint64_t(0);
  MemoryLimits limits = memoryLimits(options, table);
  limits.kvBytes.reset();
  auto planned = memoryPlan(**file, limits, *table.programs()->Get(0));
  if (!planned)
    return planned.error();
  return planned->kv;
}

Result<std::unique_ptr<Session>> Session::open(const std::string &path,
                                               const SessionOptions &options) try {
  uint64_t begin = nowNanoseconds();
  auto impl = std::make_unique<Impl>();
  auto file = EngineFile::open(path, options.verify ? VerifyLevel::Everything : VerifyLevel::Table);
  if (!file)
    return file.error();
  impl->file = *file;
  const fb::Engine &table = impl->file->table();
  if (auto checked = checkOptions(options, table); !checked)
    return checked.error();

  MemoryLimits limits = memoryLimits(options, table);
  auto executor = openExecutor(deviceOf(options, table), impl->file, options, limits);
  if (!executor)
    return executor.error();
  impl->executor = options.around ? options.around(std::move(*executor)) : std::move(*executor);

  const fb::Text *text = table.text();
  if (options.loadTokenizer && text && text->tokenizer_segment() >= 0) {
    auto tokenizer = text::Tokenizer::fromBytes(
        text->tokenizer_kind() ? text->tokenizer_kind()->string_view() : std::string_view(),
        impl->file->tokenizer());
    if (!tokenizer)
      return tokenizer.error();
    impl->tokenizer = std::move(*tokenizer);
  }
  if (text && text->special() && text->special()->eos())
    impl->eos.assign(text->special()->eos()->begin(), text->special()->eos()->end());

  int64_t budget = int64_t(limits.maxBatchTokens);
  int64_t chunk = options.prefillChunk ? std::min(options.prefillChunk, budget) : budget;
  std::vector<KvGroup> groups;
  for (const KvPages &group : impl->executor->memory().groups)
    groups.push_back({int64_t(group.pages), int64_t(group.window)});
  impl->limits = {
      int64_t(table.model()->vocab()),  int64_t(limits.context), groups, kPageTokens, budget,
      int64_t(table.model()->context())};
  auto swap = cpu::HostMemory::allocate(options.swapBytes, "swapped KV pages", false);
  if (!swap)
    return swap.error();
  impl->swap = std::move(*swap);
  const FixedState fixed{int64_t(impl->executor->memory().slots), int64_t(kSnapshotPages)};
  impl->memory = std::make_unique<SequenceMemory>(
      MemoryShape{groups, options.maxSeqs, int64_t(limits.context), kPageTokens, budget, fixed},
      impl->executor->pageMover(), std::span(impl->swap.data(), impl->swap.size()));
  SchedulePolicy policy;
  policy.order = options.fair ? QueueOrder::Fair : QueueOrder::Priority;
  policy.chunks.rule = options.balance ? ChunkRule::Balanced : ChunkRule::Whole;
  policy.chunks.loneStep = options.balance && limits.maxSeqs > 1 ? kLoneStep : 0;
  policy.chunks.targetItl = options.targetItl;
  policy.chunks.targetTtft = options.targetTtft;
  policy.prefixCache = options.prefixCache;
  const StepCostTable cost = engineCost(impl->executor->program(), impl->executor->target(),
                                        impl->executor->threads(), budget);
  if (!cost.points.empty())
    impl->longestStep =
        cost.seconds({budget, int64_t(limits.logitsRows), budget * int64_t(limits.context),
                      int64_t(limits.maxSeqs * limits.context)});
  impl->scheduler = std::make_unique<Scheduler>(
      *impl->memory, ScheduleLimits{budget, int64_t(limits.logitsRows), chunk}, policy, cost);
  impl->sampler = std::make_unique<Sampler>(impl->limits.vocab);
  impl->states = std::make_unique<StateMemory>(options.stateBytes);
  impl->sampling.reserve(size_t(limits.logitsRows));
  impl->traceFile = options.traceFile;
  if (!options.traceFile.empty())
    impl->executor->startTrace(/*keepEvents=*/true);
  impl->loadMs = double(nowNanoseconds() - begin) * 1e-6;
  return std::unique_ptr<Session>(new Session(std::move(impl)));
} catch (const std::bad_alloc &) {
  return outOfMemory("loading " + path);
}

} // namespace ingot::runtime
