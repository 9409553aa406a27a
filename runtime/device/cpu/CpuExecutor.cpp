//===- CpuExecutor.cpp - Resolving a program and running it ---------------===//
#include "runtime/device/cpu/CpuExecutor.h"

#include "runtime/device/cpu/FillDummyWeights.h"
#include "runtime/formats/PanelLayout.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

#include <sys/resource.h>

namespace ingot::cpu {

namespace {

constexpr uint64_t kLine = 64;
/// Smaller KV pools use small pages: otherwise the first token would zero 2 MiB per layer.
constexpr uint64_t kHugeKvPool = uint64_t(16) << 20;

Error memoryError(const runtime::MemoryPlan &memoryPlan, uint64_t allowed) {
  const runtime::MemoryLimits &limits = memoryPlan.limits;
  std::string weights =
      memoryPlan.seeded ? "weights from the seed " + runtime::humanBytes(memoryPlan.seeded) + " + "
                        : std::string();
  if (memoryPlan.limits.lock && memoryPlan.allocated() <= allowed)
    return {ExitCode::File, errors::kTooLittleMemory, "--lock needs more memory than is available",
            "weights in the file " + runtime::humanBytes(memoryPlan.read) + " + the rest " +
                runtime::humanBytes(memoryPlan.allocated()) + "; available " +
                runtime::humanBytes(allowed),
            "omit --lock, or lower --context, --max-seqs or --kv-memory"};
  if (memoryPlan.seeded > allowed)
    return {ExitCode::File, errors::kTooLittleMemory,
            "the weights need more memory than is available",
            runtime::humanBytes(memoryPlan.seeded) +
                " are generated from the seed at load; available " + runtime::humanBytes(allowed),
            "use a smaller shape or fewer bits: ingot compile MODEL --weights seed --quantize "
            "int4-g64 -o E"};
  return {ExitCode::File, errors::kTooLittleMemory, "the limits need more memory than is available",
          "needs " + runtime::humanBytes(memoryPlan.allocated()) + " = " + weights +
              "activations and logits " + runtime::humanBytes(memoryPlan.arena) + " (" +
              std::to_string(limits.maxBatchTokens) + " tokens, " +
              std::to_string(limits.logitsRows) + " rows) + KV " +
              runtime::humanBytes(memoryPlan.kv) + " (" + std::to_string(memoryPlan.pages) +
              " pages)" +
              (memoryPlan.slots ? " + state " + runtime::humanBytes(memoryPlan.states) : "") +
              " + scratch and batch " + runtime::humanBytes(memoryPlan.scratch + memoryPlan.batch) +
              "; available " + runtime::humanBytes(allowed),
          "lower --context (" + std::to_string(limits.context) + "), --max-seqs (" +
              std::to_string(limits.maxSeqs) + "), --max-batch-tokens (" +
              std::to_string(limits.maxBatchTokens) + ") or --kv-memory"};
}

/// `before`: bytes that the process had already locked for other engines.
Error lockError(const runtime::MemoryPlan &memoryPlan, uint64_t before, int reason) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const std::string others =
      before ? ", and has already locked " + runtime::humanBytes(before) : std::string();
  return {
      ExitCode::File, "E0509", "the system does not permit --lock to lock this much memory",
      runtime::humanBytes(memoryPlan.lockable()) + " = weights " +
          runtime::humanBytes(memoryPlan.read + memoryPlan.seeded) + " + KV " +
          runtime::humanBytes(memoryPlan.kv + memoryPlan.states) + " + working memory " +
          runtime::humanBytes(memoryPlan.arena + memoryPlan.scratch) + "; " +
          (limit.rlim_cur == RLIM_INFINITY
               ? std::strerror(reason)
               : "this process may lock " + runtime::humanBytes(limit.rlim_cur) + others),
      "raise the limit (ulimit -l unlimited, LimitMEMLOCK=infinity of systemd, docker run --ulimit "
      "memlock=-1), or omit --lock"};
}

} // namespace

Result<std::unique_ptr<CpuExecutor>>
CpuExecutor::create(std::shared_ptr<runtime::EngineFile> engine,
                    const runtime::MemoryLimits &limits, std::optional<runtime::IsaLevel> isa,
                    uint64_t allowedBytes) {
  std::unique_ptr<CpuExecutor> executor(new CpuExecutor());
  executor->file = engine;
  executor->plan = runtime::programFor(engine->table(), DeviceKind::Cpu);
  if (!executor->plan) // pickCode() below reports that the code of the other program fits no CPU
    executor->plan = engine->table().programs()->Get(0);
  const fb::Program &plan = *executor->plan;
  auto picked = runtime::pickCode(plan, runtime::hostCpu(), isa);
  if (!picked)
    return picked.error();
  const fb::CodeObject &object = *plan.code()->Get(flatbuffers::uoffset_t(*picked));
  executor->targetName = object.target()->str();
  auto memoryPlan = runtime::memoryPlan(*engine, limits, plan);
  if (!memoryPlan)
    return memoryPlan.error();
  executor->memoryPlan = *memoryPlan;
  uint64_t allowed = allowedBytes ? allowedBytes : availableMemory();
  if (allowed && executor->memoryPlan.kept() > allowed)
    return memoryError(executor->memoryPlan, allowed);
  auto code = runtime::CodeImage::map(engine, object);
  if (!code)
    return code.error();
  executor->code = *code;
  if (auto allocated = executor->allocate(); !allocated)
    return allocated.error();
  executor->resolve();
  auto loop = StepLoop::create(executor->resolved, int(limits.threads), executor->scratch.data(),
                               executor->scratchStride);
  if (!loop)
    return loop.error();
  executor->loop = std::move(*loop);
  if (auto brought = executor->bringWeights(allowed); !brought)
    return brought.error();
  return executor;
}

Result<void> CpuExecutor::allocate() {
  const runtime::MemoryLimits &limits = memoryPlan.limits;
  auto take = [](HostMemory &memory, uint64_t bytes, const char *what, bool huge) -> Result<void> {
    auto taken = HostMemory::allocate(bytes, what, huge);
    if (!taken)
      return taken.error();
    memory = std::move(*taken);
    return {};
  };
  kvOffset.clear();
  uint64_t kvBytes = 0, slotBytes = 0, largestPool = 0;
  for (const fb::State *state : *plan->states()) {
    if (state->kind() == fb::StateKind::Fixed) {
      kvOffset.push_back(slotBytes);
      slotBytes += state->slot_bytes() * memoryPlan.slots;
      continue;
    }
    uint64_t bytes =
        state->page_bytes() * memoryPlan.groups[memoryPlan.groupOf[kvOffset.size()]].pages;
    kvOffset.push_back(kvBytes);
    kvBytes += bytes;
    largestPool = std::max(largestPool, bytes);
  }
  kvTaken.assign(kvOffset.size(), 0);
  scratchStride = kLine;
  for (const fb::Kernel *kernel : *plan->kernels())
    scratchStride = std::max(scratchStride, (kernel->scratch_bytes() + kLine - 1) / kLine * kLine);

  if (auto r = take(fixedArena, plan->bytes_fixed(), "fixed buffers", true); !r)
    return r;
  if (auto r =
          take(tokenArena, plan->bytes_per_token() * limits.maxBatchTokens, "activations", true);
      !r)
    return r;
  if (auto r = take(rowArena, plan->bytes_per_row() * limits.logitsRows, "logits", true); !r)
    return r;
  if (auto r = take(kv, kvBytes, "KV pages", largestPool >= kHugeKvPool); !r)
    return r;
  if (auto r = take(slots, slotBytes, "fixed states", true); !r)
    return r;
  if (auto r = take(scratch, scratchStride * limits.threads, "kernel scratch", true); !r)
    return r;
  if (auto r = take(seeded, plan->seed_bytes(), "weights from the seed", true); !r)
    return r;
  return fillDummyWeights(*plan, file->table().seed(), {seeded.data(), seeded.size()},
                          int(limits.threads));
}

Result<void> CpuExecutor::bringWeights(uint64_t allowed) {
  std::vector<std::span<const std::byte>> weights;
  for (uint32_t segment : runtime::weightSegments(*plan))
    weights.push_back(file->segment(segment));
  const bool lock = memoryPlan.limits.lock;
  if (const uint64_t before = lock ? lockedMemory() : 0;
      lock) { // lock before the prefault: the system may refuse, and it locks pages that arrive
              // later as they arrive
    std::vector<std::span<const std::byte>> all = weights;
    for (const HostMemory *memory :
         {&fixedArena, &tokenArena, &rowArena, &kv, &slots, &scratch, &seeded})
      all.push_back(memory->span());
    for (std::span<const std::byte> memory : all)
      if (int reason = lockMemory(memory))
        return lockError(memoryPlan, before, reason);
  }
  if (allowed && memoryPlan.read > allowed)
    return {}; // the first weights would be evicted by the time the last ones are read
  prefault.emplace(weights, int(memoryPlan.limits.threads));
  if (lock)
    prefault->finish();
  return {};
}

std::byte *CpuExecutor::bufferAddress(size_t index) const {
  const fb::Buffer &buffer = *plan->buffers()->Get(flatbuffers::uoffset_t(index));
  const HostMemory &arena = buffer.class_() == fb::BufferClass::PerToken ? tokenArena
                            : buffer.class_() == fb::BufferClass::PerRow ? rowArena
                                                                         : fixedArena;
  const uint64_t place = runtime::placeInArena(buffer, memoryPlan.limits);
  assert(place < arena.size() && place % kLine == 0 && "the buffer is not in its arena");
  return arena.data() + place;
}

std::byte *CpuExecutor::operandAddress(const fb::Arg &arg, const fb::Step &step) const {
  switch (arg.kind()) {
  case fb::ArgKind::Buffer:
    return bufferAddress(arg.index());
  case fb::ArgKind::State:
    return stateAddress(step.states()->Get(arg.index()));
  case fb::ArgKind::Weight:
  case fb::ArgKind::LayerWeight:
    break;
  }
  const fb::Weight &entry = *plan->weights()->Get(runtime::weightIndex(arg, step));
  if (entry.source() == fb::WeightSource::Seed)
    return seeded.data() + entry.offset();
  // Kernels do not write weights, but the ABI has only one pointer type.
  return const_cast<std::byte *>(file->weightData(entry).data());
}

std::byte *CpuExecutor::stateAddress(size_t state) const {
  const bool fixed = plan->states()->Get(unsigned(state))->kind() == fb::StateKind::Fixed;
  assert(kvOffset[state] < (fixed ? slots : kv).size() && "the state is not in its memory");
  return (fixed ? slots : kv).data() + kvOffset[state];
}

/// Launches of one specialisation are consecutive; a step runs one specialisation of each section.
void CpuExecutor::resolve() {
  using runtime::outputOf;
  const fb::Entry &entry = runtime::generateEntry(*plan);
  // Count first: `args` points into `operands`, which must not reallocate.
  size_t operandCount = 0, launchCount = 0;
  for (const fb::Step *step : *entry.steps())
    for (const fb::Case *one : *plan->sections()->Get(step->section())->cases())
      for (const fb::Launch *launch : *one->launches()) {
        operandCount += launch->args() ? launch->args()->size() : 0;
        ++launchCount;
      }
  operands.reserve(operandCount);
  resolved.reserve(launchCount);
  for (const fb::Step *step : *entry.steps()) {
    const fb::Section &section = *plan->sections()->Get(step->section());
    for (const fb::Case *one : *section.cases())
      for (const fb::Launch *launch : *one->launches())
        resolveLaunch(*launch, *step, bitOf(section, *one));
  }
  assert(operands.size() == operandCount && resolved.size() == launchCount &&
         "launches point into `operands`, which has moved");
  const fb::Output &logits = *outputOf(entry, fb::OutputRole::Logits);
  auto widthOf = [&](const fb::Output &output) { // number of f32 in a row
    return int64_t(plan->buffers()->Get(output.buffer())->per_unit() / sizeof(float));
  };
  logitsRows = reinterpret_cast<const float *>(bufferAddress(logits.buffer()));
  logitsRowStride = widthOf(logits);
  if (const fb::Output *maxima = outputOf(entry, fb::OutputRole::Maxima)) {
    maximaRows = reinterpret_cast<const float *>(bufferAddress(maxima->buffer()));
    maximaRowStride = widthOf(*maxima);
  }
  if (runtime::hasMode(entry, fb::Mode::Greedy))
    keys = reinterpret_cast<uint64_t *>(
        bufferAddress(outputOf(entry, fb::OutputRole::Keys)->buffer()));
  hidden = outputOf(entry, fb::OutputRole::Hidden);
  ids.reserve(size_t(memoryPlan.limits.logitsRows));
  views.resize(memoryPlan.groups.size());
}

/// Returns the bit of a specialisation in the mask of a step. Specialisations of sections that have several are numbered
/// from bit 1; bit 0 stands for sections that have one.
uint64_t CpuExecutor::bitOf(const fb::Section &section, const fb::Case &one) const {
  unsigned bit = 0;
  for (const fb::Section *other : *plan->sections()) {
    if (other->cases()->size() == 1)
      continue;
    for (const fb::Case *known : *other->cases()) {
      ++bit;
      assert(bit <= runtime::kMostCpuCases && "the verifier counts specialisations");
      if (other == &section && known == &one)
        return uint64_t(1) << bit;
    }
  }
  return 1;
}

uint64_t CpuExecutor::casesOf(fb::Mode mode, const BatchView &batch) const {
  runtime::StepCounts counts{mode, uint64_t(batch.tokens), uint64_t(batch.rows), 0};
  for (int64_t i = 0; i < batch.tiles; ++i) {
    [[maybe_unused]] const AttentionTile &tile = batch.attentionTiles[i];
    assert(tile.tokens >= 1 && tile.tokens <= kAttentionTile && tile.firstToken >= 0 &&
           tile.firstToken + tile.tokens <= batch.tokens && "a tile lies in the batch");
    counts.tileTokens = std::max(counts.tileTokens, uint64_t(tile.tokens));
  }
  uint64_t bits = 1;
  for (const fb::Section *section : *plan->sections())
    if (section->cases()->size() > 1)
      bits |= bitOf(*section, runtime::caseFor(*section, counts));
  return bits;
}

void CpuExecutor::resolveLaunch(const fb::Launch &launch, const fb::Step &step, uint64_t cases) {
  const fb::Kernel &kernel = *plan->kernels()->Get(launch.kernel());
  void *const *args = operands.data() + operands.size();
  for (unsigned i = 0; launch.args() && i < launch.args()->size(); ++i)
    operands.push_back(operandAddress(*launch.args()->Get(i), step));
  resolved.push_back({code->kernel(launch.kernel()), args, kernel.grid()->factor(), launch.kernel(),
                      step.layer(), kernel.grid()->base(), kernel.partition(), launch.barrier(),
                      memoryPlan.groupRead(launch, step), cases});
}

bool CpuExecutor::takeKvMemory(std::span<const int64_t> pages) {
  constexpr uint64_t kPiece = uint64_t(2) << 20;
  assert(pages.size() == memoryPlan.groups.size() && "each group has its number of pages");
  // The state with the fewest committed pages is next. Going state by state would leave the last layers
  // with nothing if a request arrives meanwhile.
  size_t next = kvTaken.size();
  uint64_t piece = 0, fewest = std::numeric_limits<uint64_t>::max();
  for (size_t slot = 0; slot < kvTaken.size(); ++slot) {
    const uint64_t pageBytes = plan->states()->Get(unsigned(slot))->page_bytes();
    if (pageBytes == 0) // a fixed state
      continue;
    const uint64_t wanted = uint64_t(pages[memoryPlan.groupOf[slot]]) * pageBytes;
    if (kvTaken[slot] >= wanted || kvTaken[slot] / pageBytes >= fewest)
      continue;
    next = slot;
    fewest = kvTaken[slot] / pageBytes;
    piece = std::min(kPiece, wanted - kvTaken[slot]);
  }
  if (next == kvTaken.size())
    return false;
  if (kv.populate(kvOffset[next] + kvTaken[next], piece))
    kvTaken[next] += piece;
  else // memory that the system does not commit now is faulted in by the steps that touch it
    kvTaken.assign(kvTaken.size(), std::numeric_limits<uint64_t>::max());
  return true;
}

Result<void> CpuExecutor::beginSampled(const BatchView &batch) {
  assert(keys && batch.rows <= kGreedyRows && "draws() and mostDrawnRows() say what may come");
  std::fill_n(keys, batch.rows, 0);
  if (auto ran = run(batch, fb::Mode::Greedy); !ran)
    return ran;
  ids.clear(); // its memory was reserved at creation
  for (int64_t row = 0; row < batch.rows; ++row)
    ids.push_back(keys[row] ? int32_t(~uint32_t(keys[row])) : 0);
  return {};
}

Result<void> CpuExecutor::run(const BatchView &batch, fb::Mode mode) {
  const runtime::MemoryLimits &limits = memoryPlan.limits;
  if (batch.tokens < 0 || uint64_t(batch.tokens) > limits.maxBatchTokens || batch.rows < 0 ||
      uint64_t(batch.rows) > limits.logitsRows)
    return Error{ExitCode::Internal, "E0901", "a batch exceeds the executor's limits",
                 std::to_string(batch.tokens) + " tokens of " +
                     std::to_string(limits.maxBatchTokens) + ", " + std::to_string(batch.rows) +
                     " rows of " + std::to_string(limits.logitsRows),
                 "please report this"};
  std::ranges::fill(views, batch);
  for (size_t group = 1; group < views.size(); ++group) {
    assert(batch.groupTables && "slots in groups need a table each");
    views[group].blockTable = batch.groupTables[group];
  }
  loop->run(views.data(), tracing.get(), casesOf(mode, batch));
  if (tracing)
    tracing->collect(batch.tokens);
  return {};
}

uint64_t CpuExecutor::pageBytes(size_t group) const {
  return group < memoryPlan.groups.size() ? memoryPlan.groups[group].pageBytes
                                          : memoryPlan.slotBytes;
}

/// Calls move(address of the page or slot, bytes) for each state of the group.
template <typename Move> void CpuExecutor::forStates(size_t group, int32_t page, Move move) const {
  assert(page >= 0 &&
         uint64_t(page) < (group < memoryPlan.groups.size() ? memoryPlan.groups[group].pages
                                                            : memoryPlan.slots) &&
         "the group has no such page");
  for (size_t i = 0; i < kvOffset.size(); ++i)
    if (memoryPlan.groupOf[i] == group) {
      const fb::State &state = *plan->states()->Get(flatbuffers::uoffset_t(i));
      const uint64_t bytes = state.page_bytes() + state.slot_bytes(); // one of them is 0
      move(stateAddress(i) + bytes * uint64_t(page), bytes);
    }
}

void CpuExecutor::copy(size_t group, int32_t from, int32_t to) {
  forStates(group, from, [&](std::byte *at, uint64_t bytes) {
    std::memcpy(at + (int64_t(to) - from) * int64_t(bytes), at, bytes);
  });
}

void CpuExecutor::save(size_t group, int32_t page, std::byte *to) {
  forStates(group, page, [&](const std::byte *at, uint64_t bytes) {
    std::memcpy(to, at, bytes);
    to += bytes;
  });
}

void CpuExecutor::load(size_t group, const std::byte *from, int32_t page) {
  forStates(group, page, [&](std::byte *at, uint64_t bytes) {
    std::memcpy(at, from, bytes);
    from += bytes;
  });
}

std::string CpuExecutor::device() const {
  return std::to_string(threads()) + (threads() == 1 ? " thread" : " threads");
}

int64_t CpuExecutor::readAhead(size_t kernel) const {
  const auto *family = plan->kernels()->Get(flatbuffers::uoffset_t(kernel))->family();
  const bool matmul = family && family->string_view() == "matmul";
  return matmul ? loop->readAhead().bytesOf(uint32_t(kernel)) : 0; // other kernels ignore the
                                                                   // prefetch distance, so their
                                                                   // timings mean nothing
}

void CpuExecutor::startTrace(bool keepEvents) {
  std::vector<std::string> names;
  for (const fb::Kernel *kernel : *plan->kernels())
    names.push_back(kernel->name()->str());
  std::vector<runtime::Trace::LaunchInfo> launchList;
  for (const ResolvedLaunch &launch : resolved)
    launchList.push_back({launch.kernel, launch.layer});
  tracing = std::make_unique<runtime::Trace>(std::move(names), std::move(launchList),
                                             loop->threads(), keepEvents);
  for (size_t i = 0; i < resolved.size(); ++i) {
    const fb::Kernel &kernel = *plan->kernels()->Get(resolved[i].kernel);
    if (kernel.family() && kernel.family()->string_view() == "group_routes")
      tracing->watchRoutes(i, static_cast<const std::byte *>(resolved[i].args[0]), kernel.experts(),
                           kernel.experts_used());
  }
}

int64_t CpuExecutor::hiddenSize() const { return hidden ? file->table().model()->hidden() : 0; }

void CpuExecutor::hiddenState(int64_t row, float *out) const {
  assert(hidden && row >= 0 && uint64_t(row) < memoryPlan.limits.logitsRows && "no such row");
  const int64_t width = hiddenSize();
  const auto *bytes = static_cast<const std::byte *>(bufferAddress(hidden->buffer())) +
                      row * int64_t(plan->buffers()->Get(hidden->buffer())->per_unit());
  if (hidden->encoding() == fb::Encoding::F32) {
    std::memcpy(out, bytes, size_t(width) * sizeof(float));
    return;
  }
  const Q8Row plane = q8Row(width);
  const auto *high = reinterpret_cast<const int8_t *>(bytes), *low = high + plane.bytes;
  const auto *scales = reinterpret_cast<const float *>(bytes + plane.bytes + plane.scaleOffset);
  for (int64_t k = 0; k < width; ++k)
    out[k] = float(256 * int32_t(high[k]) + int32_t(low[k])) * scales[k / kGroupK];
}

} // namespace ingot::cpu
