//===- ExecutorCreate.cpp - Memory, weights, modules, the resolved program ---===//
#include "runtime/device/cuda/Executor.h"

#include "runtime/device/cuda/SeededWeight.h"
#include "runtime/engine/Inspect.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace ingot::cuda {

using runtime::humanBytes;
using std::to_string;

static Error memoryError(const runtime::MemoryStatement &s, const DeviceInfo &device,
                         uint64_t allowed) {
  const runtime::MemoryLimits &limits = s.limits;
  return {ExitCode::Device, "E0715", "the GPU has less memory than this needs",
          "needs " + humanBytes(s.taken()) + " = weights " + humanBytes(s.uploaded + s.seeded) +
              " + activations and logits " + humanBytes(s.arena) + " (" +
              to_string(limits.maxBatchTokens) + " tokens, " + to_string(limits.logitsRows) +
              " rows) + KV " + humanBytes(s.kv) + " (" + to_string(s.pages) + " pages) + batch " +
              humanBytes(s.batch) + "; free on " + device.name + ": " + humanBytes(allowed) +
              " of " + humanBytes(device.totalMemory),
          s.uploaded + s.seeded > allowed
              ? "the weights alone are too large: compile with --quantize int4-g64"
              : "lower --context (" + to_string(limits.context) + "), --max-seqs (" +
                    to_string(limits.maxSeqs) + "), --max-batch-tokens (" +
                    to_string(limits.maxBatchTokens) + ") or --kv-memory"};
}

Result<std::unique_ptr<Executor>> Executor::create(std::unique_ptr<Driver> driver,
                                                   std::shared_ptr<runtime::EngineFile> engine,
                                                   const runtime::MemoryLimits &limits,
                                                   const ExecutorOptions &options) {
  std::unique_ptr<Executor> executor(new Executor());
  Executor &e = *executor;
  e.file = std::move(engine);
  e.driver = std::move(driver);
  e.gpu = options.gpu;
  auto picked = pickGpuCode(e.file->table(), e.driver->device(), options.emulated);
  if (!picked)
    return picked.error();
  e.picked = *picked;
  auto statement = runtime::memoryStatement(*e.file, limits, *e.picked.program);
  if (!statement)
    return statement.error();
  e.statement = *statement;
  auto free = e.driver->freeMemory();
  if (!free)
    return free.error();
  uint64_t allowed = options.allowedBytes ? options.allowedBytes : *free;
  if (e.statement.taken() > allowed)
    return memoryError(e.statement, e.driver->device(), allowed);
  for (auto part : {&Executor::loadModules, &Executor::allocate, &Executor::uploadWeights})
    if (auto ok = (e.*part)(); !ok)
      return ok.error();
  if (auto ok = e.checkGrids(); !ok)
    return ok.error();
  if (auto ok = e.resolve(); !ok)
    return ok.error();
  return executor;
}

Executor::~Executor() {
  if (!driver || driver->wait())
    return;
  // Who failed was told so by a step, or is by the next session. When its copies end nobody knows.
  for (PinnedMemory *memory : {&pieces[0], &pieces[1], &logitsRows, &flights[0].batch,
                               &flights[0].ids, &flights[1].batch, &flights[1].ids})
    memory->leave();
}

Result<void> Executor::loadModules() {
  const fb::CodeObject &code = *picked.code;
  std::span<const std::byte> bytes = file->segment(code.segment());
  std::vector<Module> modules;
  for (const fb::Module *module : *code.modules()) {
    auto loaded = driver->load(bytes.subspan(module->offset(), module->size()), file->path());
    if (!loaded)
      return loaded.error();
    modules.push_back(*loaded);
  }
  for (const fb::KernelVariants *list : *code.variants()) {
    std::vector<Kernel> &own = functions.emplace_back();
    for (const fb::Variant *v : *list->variants()) {
      auto kernel = driver->find(modules[v->module_()], v->symbol()->str(), v->shared_bytes(),
                                 gpu.carveout);
      if (!kernel)
        return kernel.error();
      own.push_back(*kernel);
    }
  }
  for (unsigned i = 0; code.seed_fills() && i < code.seed_fills()->size(); ++i) {
    const fb::SeedFill &fill = *code.seed_fills()->Get(i);
    const fb::Variant &v = *fill.variant();
    auto kernel = driver->find(modules[v.module_()], v.symbol()->str(), v.shared_bytes());
    if (!kernel)
      return kernel.error();
    seedFills[fill.format()->string_view()] = {*kernel, &v};
  }
  return {};
}

/// No step within the limits may ask for a grid that cannot be launched.
Result<void> Executor::checkGrids() const {
  const runtime::MemoryLimits &limits = statement.limits;
  uint64_t tokens = std::max(limits.maxBatchTokens, bucketOf(limits.maxSeqs));
  StepShape most{tokens, std::max(limits.logitsRows, tokens), tokens, kAttentionTile};
  const fb::CodeObject &code = *picked.code;
  for (unsigned k = 0; k < code.variants()->size(); ++k)
    for (const fb::Variant *v : *code.variants()->Get(k)->variants()) {
      StepShape shape = most;
      if (v->max_tokens())
        shape.tokens = shape.tiles = shape.rows = std::min(shape.tokens, v->max_tokens());
      if (v->max_rows())
        shape.rows = std::min(shape.rows, v->max_rows());
      if (!launchOf(*v, shape))
        return Error{ExitCode::Device, "E0719", "the limits ask for more blocks than a GPU takes",
                     "kernel '" + picked.program->kernels()->Get(k)->name()->str() + "' with " +
                         to_string(shape.tokens) + " tokens",
                     "lower --max-batch-tokens (" + to_string(limits.maxBatchTokens) + ")"};
    }
  return {};
}

Result<void> Executor::allocate() {
  const fb::Engine &table = *picked.program;
  const runtime::MemoryLimits &limits = statement.limits;
  auto take = [&](DeviceMemory &memory, uint64_t bytes, const char *what) -> Result<void> {
    auto taken = DeviceMemory::allocate(*driver, bytes, what);
    if (!taken)
      return taken.error();
    memory = std::move(*taken);
    return bytes ? driver->clear(memory.address(), bytes) : Result<void>();
  };
  auto pin = [&](PinnedMemory &memory, uint64_t bytes) -> Result<void> {
    auto taken = PinnedMemory::allocate(*driver, std::max<uint64_t>(bytes, 1));
    if (!taken)
      return taken.error();
    memory = std::move(*taken);
    return {};
  };
  uint64_t kvBytes = 0;
  for (const fb::KvSlot *slot : *table.kv_slots()) {
    kvOffset.push_back(kvBytes);
    kvBytes += slot->page_bytes() * statement.pages;
  }
  if (auto ok = take(fixedArena, table.bytes_fixed(), "fixed buffers"); !ok)
    return ok;
  if (auto ok = take(tokenArena, table.bytes_per_token() * limits.maxBatchTokens, "activations");
      !ok)
    return ok;
  if (auto ok = take(rowArena, table.bytes_per_row() * limits.logitsRows, "logits"); !ok)
    return ok;
  if (auto ok = take(kv, kvBytes, "KV pages"); !ok)
    return ok;
  if (auto ok = take(batchMemory, statement.batch, "the batch"); !ok)
    return ok;
  for (Flight &flight : flights) {
    if (auto ok = pin(flight.batch, statement.batch); !ok)
      return ok;
    if (auto ok = pin(flight.ids, limits.logitsRows * sizeof(int32_t)); !ok)
      return ok;
    auto event = driver->createEvent();
    if (!event)
      return event.error();
    flight.done = *event;
  }
  return pin(logitsRows, table.bytes_per_row() * limits.logitsRows);
}

Result<void> Executor::uploadWeights() {
  for (int i = 0; i < 2; ++i) {
    auto piece = PinnedMemory::allocate(*driver, runtime::kUploadPiece);
    if (!piece)
      return piece.error();
    pieces[i] = std::move(*piece);
    auto event = driver->createEvent();
    if (!event)
      return event.error();
    pieceDone[i] = *event;
  }
  for (uint32_t index : runtime::weightSegments(*picked.program)) {
    std::span<const std::byte> bytes = file->segment(index);
    auto memory = DeviceMemory::allocate(*driver, bytes.size(), "weights");
    if (!memory)
      return memory.error();
    Address to = memory->address();
    segments.emplace(index, std::move(*memory));
    if (auto ok = uploadSegment(bytes, to); !ok)
      return ok;
  }
  if (auto ok = makeWeights(); !ok)
    return ok;
  if (auto ok = driver->wait(); !ok)
    return ok;
  for (PinnedMemory &piece : pieces)
    piece = {};
  return {};
}

/// Weights from the seed: made by the device where the code has a fill for their format. What is
/// left (vectors, engines older than fills) is made on the host, on all its threads, piece by
/// piece: a piece is whole tiles. What was rounded up behind a weight stays zero.
Result<void> Executor::makeWeights() {
  const fb::Engine &table = *picked.program;
  auto memory = DeviceMemory::allocate(*driver, table.seed_bytes(), "weights from the seed");
  if (!memory)
    return memory.error();
  seeded = std::move(*memory);
  if (table.seed_bytes())
    if (auto ok = driver->clear(seeded.address(), table.seed_bytes()); !ok)
      return ok;
  size_t turn = 0;
  for (const fb::Weight *weight : *table.weights()) {
    if (weight->source() != fb::WeightSource::Seed)
      continue;
    if (auto fill = seedFills.find(weight->format()->string_view());
        fill != seedFills.end() && weight->layout() == fb::WeightLayout::Fragment16) {
      if (auto ok = fillOnDevice(*weight, fill->second); !ok)
        return ok;
      continue;
    }
    SeededWeight pieceMaker(table.seed(), *weight);
    uint64_t step = std::max<uint64_t>(1, runtime::kUploadPiece / pieceMaker.unitBytes());
    for (uint64_t first = 0; first < pieceMaker.units(); first += step, ++turn) {
      uint64_t size = std::min(step, pieceMaker.units() - first) * pieceMaker.unitBytes();
      PinnedMemory &piece = pieces[turn % 2];
      if (size > piece.size())
        return Error{ExitCode::Device, "E0716",
                     "a row of weight '" + weight->name()->str() +
                         "' is larger than the memory for copies",
                     to_string(size) + " bytes, there are " + to_string(piece.size()),
                     "compile it with --weights random"};
      if (turn >= 2)
        if (auto ok = driver->wait(pieceDone[turn % 2]); !ok)
          return ok;
      pieceMaker.fill(first, {piece.data(), size}, int(statement.limits.threads));
      Address to = seeded.address() + weight->offset() + first * pieceMaker.unitBytes();
      if (auto ok = driver->copyToDevice(to, piece.data(), size); !ok)
        return ok;
      if (auto ok = driver->record(pieceDone[turn % 2]); !ok)
        return ok;
    }
  }
  return {};
}

Result<void> Executor::fillOnDevice(const fb::Weight &weight, const SeedFill &fill) {
  Address out = seeded.address() + weight.offset();
  uint64_t seed = picked.program->seed(), tensor = weight.tensor();
  uint64_t n = weight.shape()->Get(0), k = weight.shape()->Get(1);
  void *arguments[] = {&out, &seed, &tensor, &n, &k}; // read by the call, not by the launch
  Launch launch;
  launch.grid[0] = uint32_t(weight.size() / SeededWeight(seed, weight).unitBytes());
  launch.threads = fill.variant->threads();
  launch.sharedBytes = fill.variant->shared_bytes();
  return driver->launch(fill.kernel, launch, arguments);
}

/// Through two page-locked pieces in turn: one is filled from the file while the other travels.
Result<void> Executor::uploadSegment(std::span<const std::byte> bytes, Address to) {
  size_t turn = 0;
  for (uint64_t at = 0; at < bytes.size(); at += runtime::kUploadPiece, ++turn) {
    uint64_t size = std::min<uint64_t>(runtime::kUploadPiece, bytes.size() - at);
    PinnedMemory &piece = pieces[turn % 2];
    Event done = pieceDone[turn % 2];
    if (turn >= 2)
      if (auto ok = driver->wait(done); !ok)
        return ok;
    std::memcpy(piece.data(), bytes.data() + at, size);
    if (auto ok = driver->copyToDevice(to + at, piece.data(), size); !ok)
      return ok;
    if (auto ok = driver->record(done); !ok)
      return ok;
  }
  return driver->wait(); // the next segment begins with the first piece
}

Address Executor::bufferAddress(size_t index) const {
  const fb::Buffer &buffer = *picked.program->buffers()->Get(flatbuffers::uoffset_t(index));
  const auto &arena = buffer.class_() == fb::BufferClass::PerToken ? tokenArena
                      : buffer.class_() == fb::BufferClass::PerRow ? rowArena
                                                                   : fixedArena;
  return arena.address() + runtime::placeInArena(buffer, statement.limits);
}

/// `step` is null in the sections that find ids, which use nothing of one.
Address Executor::operandAddress(const fb::Arg &arg, const fb::Step *step) const {
  auto weight = [&](uint32_t index) {
    const fb::Weight &entry = *picked.program->weights()->Get(index);
    if (entry.source() == fb::WeightSource::Seed)
      return seeded.address() + entry.offset();
    return segments.at(entry.segment()).address() + entry.offset();
  };
  switch (arg.kind()) {
  case fb::ArgKind::Buffer:
    return bufferAddress(arg.index());
  case fb::ArgKind::Weight:
    return weight(arg.index());
  case fb::ArgKind::LayerWeight:
    return weight(step->weights()->Get(arg.index()));
  case fb::ArgKind::Kv:
    break;
  }
  return kv.address() + kvOffset[size_t(step->kv_slot())];
}

/// Rows as far as the limits go: what lies behind a step's last token is old, or zero.
Result<void *> Executor::tensorMapOf(const fb::TensorMap &map, const fb::Launch &launch) {
  const uint32_t index = launch.args()->Get(map.operand())->index();
  const fb::Buffer &buffer = *picked.program->buffers()->Get(index);
  TensorRows rows{};
  rows.base = bufferAddress(index);
  rows.bf16 = map.element() == fb::TensorElement::BF16;
  rows.columns = buffer.per_unit() / (rows.bf16 ? 2 : 1);
  rows.rows = buffer.class_() == fb::BufferClass::PerRow ? statement.limits.logitsRows
                                                         : statement.limits.maxBatchTokens;
  rows.boxColumns = map.box_columns();
  rows.boxRows = map.box_rows();
  rows.swizzle = map.swizzle();
  auto [at, isNew] = tensorMaps.try_emplace(
      {rows.base, rows.columns, rows.rows, rows.bf16, rows.boxColumns, rows.boxRows, rows.swizzle});
  if (isNew) {
    auto described = driver->describe(rows);
    if (!described)
      return described.error();
    at->second = *described;
  }
  return static_cast<void *>(&at->second);
}

Result<void> Executor::resolve() {
  const fb::Engine &table = *picked.program;
  struct Run {
    const fb::Section *section;
    const fb::Step *step;
    Wanted of;
  };
  std::vector<Run> runs;
  for (const fb::Step *step : *table.steps())
    runs.push_back({table.sections()->Get(step->section()), step, Wanted::Logits});
  for (auto [section, of] : {std::pair(table.greedy_section(), Wanted::GreedyIds),
                             std::pair(table.draw_section(), Wanted::DrawnIds)})
    if (section >= 0)
      runs.push_back({table.sections()->Get(unsigned(section)), nullptr, of});
  // Count first: pointers into these must not move.
  size_t operandCount = 0, launchCount = 0;
  for (const Run &run : runs)
    for (const fb::Launch *launch : *run.section->launches()) {
      operandCount += (launch->args() ? launch->args()->size() : 0) + 1;
      ++launchCount;
    }
  operands.reserve(operandCount);
  launches.reserve(launchCount);
  for (auto [section, step, of] : runs) {
    if (!step) // whatever ends the section before: it wants the logits
      launches.back().barrier = true;
    for (const fb::Launch *launch : *section->launches()) {
      std::vector<void *> plain;
      auto add = [&](Address address) {
        operands.push_back(address);
        plain.push_back(&operands.back());
      };
      if (launch->args())
        for (const fb::Arg *arg : *launch->args())
          add(operandAddress(*arg, step));
      add(batchMemory.address());
      launches.push_back({launch->kernel(), step ? step->layer() : -1, {}, launch->barrier(), of});
      for (const fb::Variant *v : *picked.code->variants()->Get(launch->kernel())->variants()) {
        arguments.push_back(plain);
        if (v->tensor_maps())
          for (const fb::TensorMap *map : *v->tensor_maps()) {
            auto described = tensorMapOf(*map, *launch);
            if (!described)
              return described.error();
            arguments.back().push_back(*described);
          }
        launches.back().arguments.push_back(arguments.back().data());
      }
    }
  }
  logitsRowStride =
      int64_t(table.buffers()->Get(table.logits_buffer())->per_unit() / sizeof(float));
  return {};
}

} // namespace ingot::cuda
