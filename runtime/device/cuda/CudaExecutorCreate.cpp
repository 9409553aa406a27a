//===- CudaExecutorCreate.cpp - Memory, weights, modules, the resolved program -===//
#include "runtime/device/cuda/CudaExecutor.h"

#include "runtime/device/cuda/BatchImage.h"
#include "runtime/device/cuda/DummyWeightUnits.h"
#include "runtime/engine/Inspect.h"
#include "runtime/engine/WeightLayouts.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <set>

namespace ingot::cuda {

using runtime::humanBytes;
using std::to_string;

static Error memoryError(const runtime::MemoryPlan &s, const DeviceInfo &device, uint64_t allowed) {
  const runtime::MemoryLimits &limits = s.limits;
  return {ExitCode::Device, errors::kTooLittleGpuMemory, "the GPU has too little memory",
          "needs " + humanBytes(s.needed()) + " = weights " + humanBytes(s.uploaded + s.seeded) +
              " + activations and logits " + humanBytes(s.arena) + " (" +
              to_string(limits.maxBatchTokens) + " tokens, " + to_string(limits.logitsRows) +
              " rows) + KV " + humanBytes(s.kv) + " (" + to_string(s.pages) + " pages) + batch " +
              humanBytes(s.batch) +
              (limits.reserved ? " + code, graphs and driver " + humanBytes(limits.reserved) : "") +
              "; free on " + device.name + ": " + humanBytes(allowed) + " of " +
              humanBytes(device.totalMemory),
          s.uploaded + s.seeded + limits.reserved > allowed
              ? "the weights alone are too large: compile with --quantize int4-g64"
              : "lower --context (" + to_string(limits.context) + "), --max-seqs (" +
                    to_string(limits.maxSeqs) + "), --max-batch-tokens (" +
                    to_string(limits.maxBatchTokens) + ") or --kv-memory"};
}

Result<std::unique_ptr<CudaExecutor>>
CudaExecutor::create(std::unique_ptr<Driver> driver, std::shared_ptr<runtime::EngineFile> engine,
                     runtime::MemoryLimits limits, const ExecutorOptions &options) {
  std::unique_ptr<CudaExecutor> executor(new CudaExecutor());
  CudaExecutor &e = *executor;
  e.file = std::move(engine);
  e.driver = std::move(driver);
  e.gpu = options.gpu;
  auto picked = pickGpuCode(e.file->table(), e.driver->device(), options.emulated);
  if (!picked)
    return picked.error();
  e.picked = *picked;
  limits.reserved =
      options.allowedBytes ? reservedOf(options.allowedBytes) : e.driver->device().reserved;
  e.sharing = AttentionSplitting::of(*e.picked.program);
  auto memoryPlan = runtime::memoryPlan(*e.file, limits, *e.picked.program);
  if (!memoryPlan)
    return memoryPlan.error();
  e.memoryPlan = *memoryPlan;
  auto free = e.driver->freeMemory();
  if (!free)
    return free.error();
  uint64_t allowed = options.allowedBytes ? options.allowedBytes : *free;
  if (e.memoryPlan.needed() > allowed)
    return memoryError(e.memoryPlan, e.driver->device(), allowed);
  for (auto part :
       {&CudaExecutor::loadModules, &CudaExecutor::allocate, &CudaExecutor::uploadWeights})
    if (auto ok = (e.*part)(); !ok)
      return ok.error();
  if (auto ok = e.checkGrids(); !ok)
    return ok.error();
  if (auto ok = e.resolve(); !ok)
    return ok.error();
  e.listGraphs();
  return executor;
}

CudaExecutor::~CudaExecutor() {
  if (!driver || driver->wait())
    return;
  // A step has reported the failure, or the next session will. It is unknown when the copies end, so
  // their memory is leaked.
  for (PinnedMemory *memory :
       {&logitsRows, &flights[0].batch, &flights[0].ids, &flights[1].batch, &flights[1].ids})
    memory->leave();
  for (auto &[launch, routes] : watched)
    routes.segments.leave();
  if (upload)
    upload->leave();
}

Result<void> CudaExecutor::loadModules() {
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
      auto kernel =
          driver->find(modules[v->module_()], v->symbol()->str(), v->shared_bytes(), gpu.carveout);
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

/// Lists the graphs that decode steps within the limits may need. The smallest batches come last, since
/// prepareAhead() takes graphs from the end.
void CudaExecutor::listGraphs() {
  constexpr size_t kMost = 64; // a few ms each; a step builds any others itself
  const uint64_t largest = bucketOf(memoryPlan.limits.maxSeqs);
  for (uint64_t bucket = 1; bucket <= largest; bucket = bucketOf(bucket + 1)) {
    for (Mode mode : {Mode::Greedy, Mode::Drawn, Mode::Logits})
      if (runtime::hasMode(entry(), mode))
        graphsToMake.emplace_back(bucket, mode);
  }
  graphsToMake.resize(gpu.graphs ? std::min(graphsToMake.size(), kMost) : 0);
  std::ranges::reverse(graphsToMake);
}

/// Checks that no step within the limits can need a grid that cannot be launched.
Result<void> CudaExecutor::checkGrids() const {
  const runtime::MemoryLimits &limits = memoryPlan.limits;
  uint64_t tokens = std::max(limits.maxBatchTokens, bucketOf(limits.maxSeqs));
  const uint64_t rows = std::max(limits.logitsRows, tokens);
  StepShape most = StepShape::ofDecodes(tokens, rows, sharing);
  most.tileTokens = kAttentionTile, most.promptTiles = tokens;
  const fb::CodeObject &code = *picked.code;
  auto limit = [](StepShape &shape, uint64_t mostTokens, uint64_t mostRows) {
    shape.tokens = std::min(shape.tokens, mostTokens);
    for (uint64_t *count : {&shape.tiles, &shape.rows, &shape.promptTiles})
      *count = std::min(*count, mostTokens);
    shape.rows = std::min(shape.rows, mostRows);
  };
  auto bound = [](uint64_t most) { return most ? most : UINT64_MAX; };
  auto check = [&](const fb::Case &one) -> Result<void> {
    StepShape own = most; // bounds of the steps that run it
    for (unsigned i = 0; one.when() && i < one.when()->size(); ++i)
      if (const fb::Condition &when = *one.when()->Get(i); when.quantity() == fb::Quantity::Tokens)
        limit(own, when.value(), UINT64_MAX);
      else if (when.quantity() == fb::Quantity::Rows)
        limit(own, UINT64_MAX, when.value());
    for (const fb::Launch *launch : *one.launches())
      for (const fb::Variant *v : *code.variants()->Get(launch->kernel())->variants()) {
        StepShape shape = own;
        limit(shape, bound(v->max_tokens()), bound(v->max_rows()));
        if (!launchOf(*v, shape))
          return Error{
              ExitCode::Device, "E0719", "the limits lead to a grid larger than a GPU supports",
              "kernel '" + picked.program->kernels()->Get(launch->kernel())->name()->str() +
                  "' with " + to_string(shape.tokens) + " tokens",
              "lower --max-batch-tokens (" + to_string(limits.maxBatchTokens) + ")"};
      }
    return {};
  };
  for (const fb::Section *section : *picked.program->sections())
    for (const fb::Case *one : *section->cases())
      if (auto ok = check(*one); !ok)
        return ok;
  return {};
}

Result<void> CudaExecutor::allocate() {
  const fb::Program &program = *picked.program;
  const runtime::MemoryLimits &limits = memoryPlan.limits;
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
  uint64_t kvBytes = 0, slotBytes = 0;
  for (const fb::State *state : *program.states()) {
    const bool paged = state->kind() == fb::StateKind::Paged;
    kvOffset.push_back(paged ? kvBytes : slotBytes);
    if (paged)
      kvBytes +=
          state->page_bytes() * memoryPlan.groups[memoryPlan.groupOf[kvOffset.size() - 1]].pages;
    slotBytes += state->slot_bytes() * memoryPlan.slots; // 0 for a paged state
  }
  if (auto ok = take(fixedArena, program.bytes_fixed(), "fixed buffers"); !ok)
    return ok;
  if (auto ok = take(tokenArena, program.bytes_per_token() * limits.maxBatchTokens, "activations");
      !ok)
    return ok;
  if (auto ok = take(rowArena, program.bytes_per_row() * limits.logitsRows, "logits"); !ok)
    return ok;
  if (auto ok = take(kv, kvBytes, "KV pages"); !ok)
    return ok;
  if (auto ok = take(slots, slotBytes, "fixed states"); !ok)
    return ok;
  if (auto ok = take(batchMemory, memoryPlan.batch, "the batch"); !ok)
    return ok;
  for (Flight &flight : flights) {
    if (auto ok = pin(flight.batch, memoryPlan.batch); !ok)
      return ok;
    if (auto ok = pin(flight.ids, limits.logitsRows * sizeof(int32_t)); !ok)
      return ok;
    auto event = driver->createEvent(/*timed=*/false);
    if (!event)
      return event.error();
    flight.done = *event;
  }
  return pin(logitsRows, program.bytes_per_row() * limits.logitsRows);
}

Result<void> CudaExecutor::uploadWeights() {
  auto made = WeightUpload::create(*driver);
  if (!made)
    return made.error();
  upload = std::move(*made);
  std::vector<WeightUpload::Part> parts;
  for (uint32_t index : runtime::weightSegments(*picked.program)) {
    std::span<const std::byte> bytes = file->segment(index);
    auto memory = DeviceMemory::allocate(*driver, bytes.size(), "weights");
    if (!memory)
      return memory.error();
    parts.push_back({bytes, memory->address()});
    segments.emplace(index, std::move(*memory));
  }
  if (auto ok = upload->send(parts, int(memoryPlan.limits.threads)); !ok)
    return ok;
  if (auto ok = makeWeights(); !ok)
    return ok;
  if (auto ok = driver->wait(); !ok)
    return ok;
  upload.reset();
  return {};
}

/// Generates weights from the seed, on the device if the code has a fill kernel for their format.
/// Other weights (vectors, formats without a fill kernel) are generated on the host, on all its
/// threads, in pieces of whole tiles. The padding after a weight stays zero.
Result<void> CudaExecutor::makeWeights() {
  const fb::Program &program = *picked.program;
  auto memory = DeviceMemory::allocate(*driver, program.seed_bytes(), "weights from the seed");
  if (!memory)
    return memory.error();
  seeded = std::move(*memory);
  if (program.seed_bytes())
    if (auto ok = driver->clear(seeded.address(), program.seed_bytes()); !ok)
      return ok;
  for (const fb::Weight *weight : *program.weights()) {
    if (weight->source() != fb::WeightSource::Seed)
      continue;
    if (auto fill = seedFills.find(weight->format()->string_view());
        fill != seedFills.end() && weight->layout() == fb::WeightLayout::Fragment16 &&
        runtime::rowsFillTiles(*weight)) {
      if (auto ok = fillOnDevice(*weight, fill->second); !ok)
        return ok;
      continue;
    }
    DummyWeightUnits pieceMaker(file->table().seed(), *weight);
    uint64_t step = std::max<uint64_t>(1, runtime::kUploadPiece / pieceMaker.unitBytes());
    for (uint64_t first = 0; first < pieceMaker.units(); first += step) {
      uint64_t size = std::min(step, pieceMaker.units() - first) * pieceMaker.unitBytes();
      auto piece = upload->next();
      if (!piece)
        return piece.error();
      if (size > piece->size())
        return Error{ExitCode::Device, "E0728",
                     "a row of weight '" + weight->name()->str() +
                         "' is larger than the memory for copies",
                     to_string(size) + " bytes, there are " + to_string(piece->size()),
                     "compile it with --weights random"};
      pieceMaker.fill(first, piece->first(size), int(memoryPlan.limits.threads));
      Address to = seeded.address() + weight->offset() + first * pieceMaker.unitBytes();
      if (auto ok = upload->sendNext(size, to); !ok)
        return ok;
    }
  }
  return {};
}

Result<void> CudaExecutor::fillOnDevice(const fb::Weight &weight, const SeedFill &fill) {
  Address out = seeded.address() + weight.offset();
  uint64_t seed = file->table().seed(), tensor = weight.tensor();
  const runtime::WeightShape shape = runtime::shapeOf(weight);
  uint64_t n = uint64_t(shape.matrices * shape.rows), k = uint64_t(shape.columns);
  void *arguments[] = {&out, &seed, &tensor, &n, &k}; // read during the call, not when the kernel
                                                      // runs
  Launch launch;
  launch.grid[0] = uint32_t(weight.size() / DummyWeightUnits(seed, weight).unitBytes());
  launch.threads = fill.variant->threads();
  launch.sharedBytes = fill.variant->shared_bytes();
  return driver->launch(fill.kernel, launch, arguments);
}

Address CudaExecutor::bufferAddress(size_t index) const {
  const fb::Buffer &buffer = *picked.program->buffers()->Get(flatbuffers::uoffset_t(index));
  const auto &arena = buffer.class_() == fb::BufferClass::PerToken ? tokenArena
                      : buffer.class_() == fb::BufferClass::PerRow ? rowArena
                                                                   : fixedArena;
  const uint64_t place = runtime::placeInArena(buffer, memoryPlan.limits);
  assert(place < arena.size() && "the buffer is not in its arena");
  return arena.address() + place;
}

Address CudaExecutor::operandAddress(const fb::Arg &arg, const fb::Step &step) const {
  switch (arg.kind()) {
  case fb::ArgKind::Buffer:
    return bufferAddress(arg.index());
  case fb::ArgKind::State:
    return stateAddress(step.states()->Get(arg.index()));
  case fb::ArgKind::Weight:
  case fb::ArgKind::LayerWeight:
    break;
  }
  const fb::Weight &entry = *picked.program->weights()->Get(runtime::weightIndex(arg, step));
  if (entry.source() == fb::WeightSource::Seed)
    return seeded.address() + entry.offset();
  return segments.at(entry.segment()).address() + entry.offset();
}

Address CudaExecutor::stateAddress(size_t state) const {
  const bool fixed = picked.program->states()->Get(unsigned(state))->kind() == fb::StateKind::Fixed;
  assert(kvOffset[state] < (fixed ? slots : kv).size() && "the state is not in its memory");
  return (fixed ? slots : kv).address() + kvOffset[state];
}

/// The map covers rows up to the limits. A box may thus include rows after a step's last token, which contain
/// old values or zeros.
Result<void *> CudaExecutor::tensorMapOf(const fb::TensorMap &map, const fb::Launch &launch) {
  const uint32_t index = launch.args()->Get(map.operand())->index();
  const fb::Buffer &buffer = *picked.program->buffers()->Get(index);
  TensorRows rows{};
  rows.base = bufferAddress(index);
  rows.bf16 = map.element() == fb::TensorElement::BF16;
  rows.columns = buffer.per_unit() / map.unit_rows() / (rows.bf16 ? 2 : 1);
  rows.rows = map.unit_rows() * (buffer.class_() == fb::BufferClass::PerRow
                                     ? memoryPlan.limits.logitsRows
                                     : memoryPlan.limits.maxBatchTokens);
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

/// Launches of one specialisation are consecutive; a step runs one specialisation of each section.
Result<void> CudaExecutor::resolve() {
  const fb::Program &program = *picked.program;
  // Count first: the vectors must not reallocate, since pointers refer to their elements.
  size_t operandCount = 0, launchCount = 0;
  for (const fb::Step *step : *entry().steps())
    for (const fb::Case *one : *program.sections()->Get(step->section())->cases())
      for (const fb::Launch *launch : *one->launches()) {
        operandCount += (launch->args() ? launch->args()->size() : 0) + 1;
        ++launchCount;
      }
  operands.reserve(operandCount);
  launches.reserve(launchCount);
  for (const fb::Step *step : *entry().steps()) {
    const fb::Section &section = *program.sections()->Get(step->section());
    for (const fb::Case *one : *section.cases()) {
      cases.push_back({&section, one, launches.size(), launches.size() + one->launches()->size()});
      for (const fb::Launch *launch : *one->launches())
        if (auto ok = resolveLaunch(*launch, *step); !ok)
          return ok;
    }
  }
  logitsRowStride =
      int64_t(program.buffers()->Get(unsigned(bufferOf(fb::OutputRole::Logits)))->per_unit() /
              sizeof(float));
  return {};
}

Result<void> CudaExecutor::resolveLaunch(const fb::Launch &launch, const fb::Step &step) {
  std::vector<void *> plain;
  auto add = [&](Address address) {
    assert(operands.size() < operands.capacity() && "arguments point into `operands`");
    operands.push_back(address);
    plain.push_back(&operands.back());
  };
  if (launch.args())
    for (const fb::Arg *arg : *launch.args())
      add(operandAddress(*arg, step));
  add(batchMemory.address() + memoryPlan.groupRead(launch, step) * kViewBytes);
  launches.push_back({launch.kernel(), step.layer(), {}, launch.barrier()});
  for (const fb::Variant *v : *picked.code->variants()->Get(launch.kernel())->variants()) {
    arguments.push_back(plain);
    if (v->tensor_maps())
      for (const fb::TensorMap *map : *v->tensor_maps()) {
        auto described = tensorMapOf(*map, launch);
        if (!described)
          return described.error();
        arguments.back().push_back(*described);
      }
    launches.back().arguments.push_back(arguments.back().data());
  }
  return {};
}

} // namespace ingot::cuda
