//===- Executor.cpp - Resolving a program and running it ------------------===//
#include "runtime/device/cpu/Executor.h"

#include "runtime/device/cpu/SeededWeights.h"
#include "runtime/formats/PanelLayout.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

namespace ingot::cpu {

namespace {

constexpr uint64_t kLine = 64;
/// Smaller KV pools stay on small pages: a first token would zero 2 MiB per layer.
constexpr uint64_t kHugeKvPool = uint64_t(16) << 20;

Error memoryError(const runtime::MemoryStatement &statement, uint64_t allowed) {
  const runtime::MemoryLimits &limits = statement.limits;
  std::string weights =
      statement.seeded ? "weights from the seed " + runtime::humanBytes(statement.seeded) + " + "
                       : std::string();
  if (statement.seeded > allowed)
    return {ExitCode::File, "E0502", "the weights take more memory than there is",
            runtime::humanBytes(statement.seeded) + " are made from the seed at load; allowed " +
                runtime::humanBytes(allowed),
            "use a smaller shape or fewer bits: ingot compile MODEL --weights seed --quantize "
            "int4-g64 -o E"};
  return {ExitCode::File, "E0502", "the limits ask for more memory than there is",
          "needs " + runtime::humanBytes(statement.allocated()) + " = " + weights +
              "activations and logits " + runtime::humanBytes(statement.arena) + " (" +
              std::to_string(limits.maxBatchTokens) + " tokens, " +
              std::to_string(limits.logitsRows) + " rows) + KV " +
              runtime::humanBytes(statement.kv) + " (" + std::to_string(statement.pages) +
              " pages) + scratch and batch " +
              runtime::humanBytes(statement.scratch + statement.batch) + "; allowed " +
              runtime::humanBytes(allowed),
          "lower --context (" + std::to_string(limits.context) + "), --max-seqs (" +
              std::to_string(limits.maxSeqs) + "), --max-batch-tokens (" +
              std::to_string(limits.maxBatchTokens) + ") or --kv-memory"};
}

} // namespace

Result<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<runtime::EngineFile> engine,
                                                   const runtime::MemoryLimits &limits,
                                                   std::optional<runtime::IsaLevel> isa,
                                                   uint64_t allowedBytes) {
  std::unique_ptr<Executor> executor(new Executor());
  executor->file = engine;
  auto picked = runtime::pickCode(engine->table(), runtime::hostCpu(), isa);
  if (!picked)
    return picked.error();
  executor->targetName =
      engine->table().code()->Get(flatbuffers::uoffset_t(*picked))->target()->str();
  auto statement = runtime::memoryStatement(*engine, limits);
  if (!statement)
    return statement.error();
  executor->statement = *statement;
  uint64_t allowed = allowedBytes ? allowedBytes : availableMemory();
  if (allowed && executor->statement.allocated() > allowed)
    return memoryError(executor->statement, allowed);
  auto code = runtime::CodeImage::map(engine, *picked);
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
  return executor;
}

Result<void> Executor::allocate() {
  const fb::Engine &table = file->table();
  const runtime::MemoryLimits &limits = statement.limits;
  auto take = [](HostMemory &memory, uint64_t bytes, const char *what, bool huge) -> Result<void> {
    auto taken = HostMemory::allocate(bytes, what, huge);
    if (!taken)
      return taken.error();
    memory = std::move(*taken);
    return {};
  };
  kvOffset.clear();
  uint64_t kvBytes = 0, largestPool = 0;
  for (const fb::KvSlot *slot : *table.kv_slots()) {
    uint64_t bytes =
        slot->page_bytes() * statement.groups[statement.groupOf[kvOffset.size()]].pages;
    kvOffset.push_back(kvBytes);
    kvBytes += bytes;
    largestPool = std::max(largestPool, bytes);
  }
  kvTaken.assign(kvOffset.size(), 0);
  scratchStride = kLine;
  for (const fb::Kernel *kernel : *table.kernels())
    scratchStride = std::max(scratchStride, (kernel->scratch_bytes() + kLine - 1) / kLine * kLine);

  if (auto r = take(fixedArena, table.bytes_fixed(), "fixed buffers", true); !r)
    return r;
  if (auto r =
          take(tokenArena, table.bytes_per_token() * limits.maxBatchTokens, "activations", true);
      !r)
    return r;
  if (auto r = take(rowArena, table.bytes_per_row() * limits.logitsRows, "logits", true); !r)
    return r;
  if (auto r = take(kv, kvBytes, "KV pages", largestPool >= kHugeKvPool); !r)
    return r;
  if (auto r = take(scratch, scratchStride * limits.threads, "kernel scratch", true); !r)
    return r;
  if (auto r = take(seeded, table.seed_bytes(), "weights from the seed", true); !r)
    return r;
  return fillSeededWeights(table, {seeded.data(), seeded.size()}, int(limits.threads));
}

std::byte *Executor::bufferAddress(size_t index) const {
  const fb::Buffer &buffer = *file->table().buffers()->Get(flatbuffers::uoffset_t(index));
  const HostMemory &arena = buffer.class_() == fb::BufferClass::PerToken ? tokenArena
                            : buffer.class_() == fb::BufferClass::PerRow ? rowArena
                                                                         : fixedArena;
  return arena.data() + runtime::placeInArena(buffer, statement.limits);
}

std::byte *Executor::operandAddress(const fb::Arg &arg, const fb::Step &step) const {
  auto weight = [&](size_t index) {
    const fb::Weight &entry = *file->table().weights()->Get(flatbuffers::uoffset_t(index));
    if (entry.source() == fb::WeightSource::Seed)
      return seeded.data() + entry.offset();
    // Kernels do not write weights; the ABI has one pointer type.
    return const_cast<std::byte *>(file->weightData(index).data());
  };
  switch (arg.kind()) {
  case fb::ArgKind::Buffer:
    return bufferAddress(arg.index());
  case fb::ArgKind::Weight:
    return weight(arg.index());
  case fb::ArgKind::LayerWeight:
    return weight(step.weights()->Get(arg.index()));
  case fb::ArgKind::Kv:
    break;
  }
  return kv.data() + kvOffset[size_t(step.kv_slot())];
}

void Executor::resolve() {
  const fb::Engine &table = file->table();
  // Count first: `args` points into `operands`, which must not move.
  size_t operandCount = 0, launchCount = 0;
  for (const fb::Step *step : *table.steps())
    for (const fb::Launch *launch : *table.sections()->Get(step->section())->launches()) {
      operandCount += launch->args() ? launch->args()->size() : 0;
      ++launchCount;
    }
  operands.reserve(operandCount);
  resolved.reserve(launchCount);
  for (const fb::Step *step : *table.steps())
    for (const fb::Launch *launch : *table.sections()->Get(step->section())->launches()) {
      const fb::Kernel &kernel = *table.kernels()->Get(launch->kernel());
      void *const *args = operands.data() + operands.size();
      if (launch->args())
        for (const fb::Arg *arg : *launch->args())
          operands.push_back(operandAddress(*arg, *step));
      resolved.push_back({code->kernel(launch->kernel()), args, kernel.grid()->factor(),
                          launch->kernel(), step->layer(), kernel.grid()->base(),
                          kernel.partition(), launch->barrier(),
                          step->kv_slot() >= 0 ? statement.groupOf[size_t(step->kv_slot())] : 0});
    }
  logitsRows = reinterpret_cast<const float *>(bufferAddress(table.logits_buffer()));
  logitsRowStride =
      int64_t(table.buffers()->Get(table.logits_buffer())->per_unit() / sizeof(float));
  if (table.logit_maxima() >= 0) {
    maximaRows = reinterpret_cast<const float *>(bufferAddress(size_t(table.logit_maxima())));
    maximaRowStride =
        int64_t(table.buffers()->Get(unsigned(table.logit_maxima()))->per_unit() / sizeof(float));
  }
  if (table.greedy_keys() >= 0)
    keys = reinterpret_cast<uint64_t *>(bufferAddress(size_t(table.greedy_keys())));
  ids.reserve(size_t(statement.limits.logitsRows));
  views.resize(statement.groups.size());
}

bool Executor::takeKvMemory(std::span<const int64_t> pages) {
  constexpr uint64_t kPiece = uint64_t(2) << 20;
  // Slot by slot would leave the last layers with nothing when a request comes in between.
  size_t next = kvTaken.size();
  uint64_t piece = 0, fewest = std::numeric_limits<uint64_t>::max();
  for (size_t slot = 0; slot < kvTaken.size(); ++slot) {
    const uint64_t pageBytes = file->table().kv_slots()->Get(unsigned(slot))->page_bytes();
    const uint64_t wanted = uint64_t(pages[statement.groupOf[slot]]) * pageBytes;
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
  else // what the system will not give now, a step takes when it comes to it
    kvTaken.assign(kvTaken.size(), std::numeric_limits<uint64_t>::max());
  return true;
}

Result<void> Executor::beginSampled(const BatchView &planned) {
  assert(keys && planned.rows <= kGreedyRows && "draws() and mostDrawnRows() say what may come");
  BatchView batch = planned;
  batch.greedy = 1;
  std::fill_n(keys, batch.rows, 0);
  if (auto ran = step(batch); !ran)
    return ran;
  ids.clear(); // its memory was taken at the start
  for (int64_t row = 0; row < batch.rows; ++row)
    ids.push_back(keys[row] ? int32_t(~uint32_t(keys[row])) : 0);
  return {};
}

Result<void> Executor::step(const BatchView &batch) {
  const runtime::MemoryLimits &limits = statement.limits;
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
  loop->run(views.data(), tracing.get());
  if (tracing)
    tracing->collect(batch.tokens);
  return {};
}

uint64_t Executor::pageBytes(size_t group) const { return statement.groups[group].pageBytes; }

/// Calls move(address of the page, bytes) for each slot of the group.
template <typename Move> void Executor::forSlots(size_t group, int32_t page, Move move) const {
  for (size_t slot = 0; slot < kvOffset.size(); ++slot)
    if (statement.groupOf[slot] == group) {
      uint64_t bytes = file->table().kv_slots()->Get(flatbuffers::uoffset_t(slot))->page_bytes();
      move(kv.data() + kvOffset[slot] + bytes * uint64_t(page), bytes);
    }
}

void Executor::copy(size_t group, int32_t from, int32_t to) {
  forSlots(group, from, [&](std::byte *at, uint64_t bytes) {
    std::memcpy(at + (int64_t(to) - from) * int64_t(bytes), at, bytes);
  });
}

void Executor::save(size_t group, int32_t page, std::byte *to) {
  forSlots(group, page, [&](const std::byte *at, uint64_t bytes) {
    std::memcpy(to, at, bytes);
    to += bytes;
  });
}

void Executor::load(size_t group, const std::byte *from, int32_t page) {
  forSlots(group, page, [&](std::byte *at, uint64_t bytes) {
    std::memcpy(at, from, bytes);
    from += bytes;
  });
}

std::string Executor::device() const {
  return std::to_string(threads()) + (threads() == 1 ? " thread" : " threads");
}

void Executor::startTrace(bool keepEvents) {
  std::vector<std::string> names;
  for (const fb::Kernel *kernel : *file->table().kernels())
    names.push_back(kernel->name()->str());
  std::vector<runtime::Trace::LaunchInfo> launchList;
  for (const ResolvedLaunch &launch : resolved)
    launchList.push_back({launch.kernel, launch.layer});
  tracing = std::make_unique<runtime::Trace>(std::move(names), std::move(launchList),
                                             loop->threads(), keepEvents);
}

int64_t Executor::hiddenSize() const {
  return file->table().hidden_rows() < 0 ? 0 : int64_t(file->table().model()->hidden());
}

void Executor::hiddenState(int64_t row, float *out) const {
  const fb::Engine &table = file->table();
  const int64_t width = table.model()->hidden(), index = table.hidden_rows();
  const auto *bytes = static_cast<const std::byte *>(bufferAddress(size_t(index))) +
                      row * int64_t(table.buffers()->Get(unsigned(index))->per_unit());
  if (!table.hidden_planes()) {
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
