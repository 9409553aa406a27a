//===- GpuCode.cpp --------------------------------------------------------===//
#include "compiler/driver/GpuCode.h"
#include "codegen/cuda/CudaCodegen.h"
#include "compiler/driver/CompilerIdentity.h"
#include "compiler/driver/GpuCosts.h"
#include "runtime/engine/GpuTarget.h"
#include "runtime/formats/PanelLayout.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

using runtime::GpuTarget;

/// wgmma exists on sm_90a alone, and its bits may differ from mma.sync's.
static cuda::EmitOptions optionsFor(StringRef target, bool batchInvariant) {
  cuda::EmitOptions options;
  options.wgmma = !batchInvariant && target.ends_with(":sm_90a");
  return options;
}

static Result<std::vector<cuda::CudaProgram>> programsOf(ArrayRef<kernel::FuncOp> kernels,
                                                         const cuda::EmitOptions &options) {
  std::vector<cuda::CudaProgram> programs;
  for (kernel::FuncOp fn : kernels) {
    auto program = cuda::emitKernel(fn, options);
    if (failed(program))
      return Error{ExitCode::Internal, "E0460",
                   "kernel " + fn.getSymName().str() + " cannot be made for GPUs", "",
                   "leave GPU targets out, and please report it with the checkpoint's config"};
    programs.push_back(std::move(*program));
  }
  return programs;
}

namespace {
/// The cache as code generators see it: they say what decides the code, this adds which build of Ingot asks.
class Cached : public cuda::KeptCode {
public:
  explicit Cached(CodeCache &cache) : cache(cache), identity(compilerIdentity()) {}

  std::optional<std::string> lookup(ArrayRef<std::string> texts) override {
    return cache.lookup(keyOf(texts));
  }
  void store(ArrayRef<std::string> texts, StringRef code) override {
    (void)cache.store(keyOf(texts),
                      code); // a full disk costs the next run time, not this one its engine
  }

private:
  CodeCache::Key keyOf(ArrayRef<std::string> texts) const {
    std::vector<std::string> all{identity};
    llvm::append_range(all, texts);
    return CodeCache::keyOf(all);
  }

  CodeCache &cache;
  std::string identity;
};
} // namespace

/// The three lines that a code generator gives: what, why, way out.
static Error problemError(const char *code, const std::string &problem) {
  Error error{ExitCode::File, code, "", "", ""};
  StringRef rest = problem;
  for (std::string *line : {&error.what, &error.why, &error.fix}) {
    auto [first, more] = rest.split('\n');
    *line = first.trim().str();
    rest = more;
  }
  return error;
}

static std::unique_ptr<fb::Extent> extentOf(const cuda::LaunchExtent &extent) {
  constexpr fb::GridBase bases[] = {fb::GridBase::Constant, fb::GridBase::Tokens,
                                    fb::GridBase::Rows,     fb::GridBase::Tiles,
                                    fb::GridBase::Shares,   fb::GridBase::PromptTiles};
  return std::make_unique<fb::Extent>(bases[extent.base], extent.multiply, extent.divide);
}

static std::unique_ptr<fb::VariantT> variantOf(const cuda::CudaVariant &from, uint32_t module,
                                               bool overlap) {
  auto to = std::make_unique<fb::VariantT>();
  to->module_ = module;
  to->symbol = from.symbol;
  if (from.maxCount != cuda::kUnlimited)
    (from.guardBase == cuda::LaunchExtent::Rows ? to->max_rows : to->max_tokens) = from.maxCount;
  if (from.maxTileTokens != cuda::kUnlimited)
    to->max_tile_tokens = from.maxTileTokens;
  to->x = extentOf(from.grid[0]);
  to->y = extentOf(from.grid[1]);
  to->z = extentOf({});
  to->threads = from.threads;
  to->shared_bytes = from.sharedBytes;
  to->overlap = overlap && from.pdl;
  to->cluster = from.cluster > 1 ? from.cluster : 0;
  for (const cuda::TensorMapOf &from : from.tensorMaps) {
    auto map = std::make_unique<fb::TensorMapT>();
    map->operand = from.operand;
    map->element = fb::TensorElement::BF16;
    map->box_rows = from.boxRows;
    map->box_columns = 64;
    map->swizzle = true;
    to->tensor_maps.push_back(std::move(map));
  }
  return to;
}

/// One buffer for all kernels that ask for a workspace: the last operand of their launches. No two of those are in a group of
/// launches without a barrier, which may run at once.
static void addWorkspace(ArrayRef<kernel::FuncOp> kernels, fb::ProgramT &table) {
  uint64_t bytes = 0, end = 0;
  for (kernel::FuncOp kernel : kernels)
    bytes = std::max<uint64_t>(bytes, cuda::workspaceBytes(kernel));
  if (!bytes)
    return;
  for (const auto &buffer : table.buffers)
    if (buffer->class_ == fb::BufferClass::Fixed)
      end = std::max(end, buffer->offset + buffer->per_unit);
  auto workspace = std::make_unique<fb::BufferT>();
  workspace->name = "workspace";
  workspace->class_ = fb::BufferClass::Fixed;
  workspace->per_unit = roundUp(bytes, 64);
  workspace->offset = end;
  for (auto [index, kernel] : llvm::enumerate(kernels)) {
    if (!cuda::workspaceBytes(kernel))
      continue;
    ++table.kernels[index]->args;
    for (const auto &section : table.sections)
      for (const auto &launch : section->cases.front()->launches)
        if (launch->kernel == index)
          launch->args.push_back(fb::Arg(fb::ArgKind::Buffer, table.buffers.size()));
  }
  for (const auto &section : table.sections) {
    [[maybe_unused]] int inGroup = 0;
    for (const auto &launch : section->cases.front()->launches) {
      inGroup +=
          launch->kernel < kernels.size() && cuda::workspaceBytes(kernels[launch->kernel]) != 0;
      assert(inGroup <= 1 && "they would write the same slots at once");
      if (launch->barrier)
        inGroup = 0;
    }
  }
  table.buffers.push_back(std::move(workspace));
}

namespace {
/// A section behind the logits that finds ids, `argmax` with its keys first: a case that takes the largest, one that draws, and
/// none where the logits are wanted. Its buffers are lines for each row, apart from all others: keys and sums outlive the step. The
/// program has the keys already if its projections raise them.
class IdSection {
public:
  IdSection(fb::ProgramT &table, int64_t vocabulary) : table(table), entry(*table.entries.front()) {
    for (const auto &buffer : table.buffers)
      if (buffer->class_ == fb::BufferClass::PerRow)
        end = std::max(end, buffer->offset + buffer->per_unit);
    const fb::Arg logits(fb::ArgKind::Buffer, outputOf(fb::OutputRole::Logits)->buffer);
    const fb::OutputT *raised = outputOf(fb::OutputRole::Keys);
    const fb::Arg keys =
        raised ? fb::Arg(fb::ArgKind::Buffer, raised->buffer) : buffer("greedy_keys", 64);
    const fb::Arg ids = buffer("greedy_ids", 64),
                  sums = buffer("draw_sums", cuda::drawSumsBytes(vocabulary));
    // In the order of the symbols of argmaxProgram() and drawProgram().
    const uint32_t argmax = kernel("argmax", 2), finish = kernel("argmax_finish", 2),
                   weigh = kernel("draw_weigh", 3), draw = kernel("draw_ids", 4);
    auto section = std::make_unique<fb::SectionT>();
    section->name = "ids";
    section->cases.push_back(
        caseOf(fb::Mode::Greedy, {{argmax, {logits, keys}}, {finish, {keys, ids}}}));
    section->cases.push_back(caseOf(fb::Mode::Drawn, {{argmax, {logits, keys}},
                                                      {weigh, {logits, keys, sums}},
                                                      {draw, {logits, keys, sums, ids}}}));
    section->cases.push_back(std::make_unique<fb::CaseT>());
    // Its launches want the logits, and the plan saw nothing behind them.
    table.sections[entry.steps.back()->section]->cases.front()->launches.back()->barrier = true;
    auto step = std::make_unique<fb::StepT>();
    step->section = table.sections.size();
    table.sections.push_back(std::move(section));
    entry.steps.push_back(std::move(step));
    entry.modes = {fb::Mode::Logits, fb::Mode::Greedy, fb::Mode::Drawn};
    auto found = std::make_unique<fb::OutputT>();
    found->role = fb::OutputRole::Ids, found->encoding = fb::Encoding::I32,
    found->buffer = ids.index();
    entry.outputs.push_back(std::move(found));
  }

private:
  fb::Arg buffer(const char *name, uint64_t bytes) {
    auto entry = std::make_unique<fb::BufferT>();
    entry->name = name;
    entry->class_ = fb::BufferClass::PerRow;
    entry->per_unit = bytes;
    entry->offset = std::exchange(end, end + bytes);
    table.buffers.push_back(std::move(entry));
    return fb::Arg(fb::ArgKind::Buffer, table.buffers.size() - 1);
  }

  uint32_t kernel(const char *name, uint32_t operands) {
    auto entry = std::make_unique<fb::KernelT>();
    entry->name = name;
    entry->family = "sample";
    entry->grid = std::make_unique<fb::GridT>();
    entry->grid->base = fb::GridBase::Rows;
    entry->grid->factor = 1;
    entry->args = operands;
    table.kernels.push_back(std::move(entry));
    return table.kernels.size() - 1;
  }

  static std::unique_ptr<fb::CaseT>
  caseOf(fb::Mode mode, ArrayRef<std::pair<uint32_t, std::vector<fb::Arg>>> launches) {
    auto one = std::make_unique<fb::CaseT>();
    one->when.push_back(std::make_unique<fb::ConditionT>());
    one->when.front()->quantity = fb::Quantity::Mode;
    one->when.front()->value = static_cast<uint64_t>(mode);
    for (const auto &[kernel, args] : launches) {
      auto launch = std::make_unique<fb::LaunchT>();
      launch->kernel = kernel;
      launch->args = args;
      one->launches.push_back(std::move(launch));
    }
    return one;
  }

  const fb::OutputT *outputOf(fb::OutputRole role) const {
    for (const auto &output : entry.outputs)
      if (output->role == role)
        return output.get();
    return nullptr;
  }

  fb::ProgramT &table;
  fb::EntryT &entry;
  uint64_t end = 0; ///< of the rows' arena
};
} // namespace

namespace {
/// All programs of an engine: the kernels', argmaxProgram() and drawProgram() whose symbols are kernels of their own, and one
/// for each format of weights that the device makes.
struct ProgramList {
  std::vector<cuda::CudaProgram> all;
  size_t sample = 0; ///< place of the first of the two
  size_t seeds = 0;  ///< seeded[i] is at seeds + i
  std::vector<WeightFormat> seeded;
};
} // namespace

static Result<ProgramList> listOf(ArrayRef<kernel::FuncOp> kernels, const cuda::EmitOptions &text,
                                  const GpuCodeOptions &options, const fb::ProgramT &table) {
  auto programs = programsOf(kernels, text);
  if (!programs)
    return programs.error();
  ProgramList list{std::move(*programs), 0, 0, {}};
  list.sample = list.all.size();
  list.all.push_back(cuda::argmaxProgram(options.vocabulary, options.foldedRows));
  list.all.push_back(cuda::drawProgram(options.vocabulary));
  list.seeds = list.all.size();
  for (const auto &weight : table.weights) {
    if (weight->source != fb::WeightSource::Seed || weight->layout != fb::WeightLayout::Fragment16)
      continue;
    WeightFormat format = *weightFormatNamed(weight->format);
    if (llvm::is_contained(list.seeded, format))
      continue;
    list.seeded.push_back(format);
    list.all.push_back(cuda::seedProgram(format));
  }
  return list;
}

/// `modules`: the compiled files; program p is in module p, or all are in the only one.
static uint64_t addCode(const std::string &target, ArrayRef<kernel::FuncOp> kernels,
                        const ProgramList &programs, ArrayRef<std::string> modules,
                        fb::ProgramT &table, std::vector<SegmentSource> &segments) {
  auto code = std::make_unique<fb::CodeObjectT>();
  code->target = target;
  code->segment = segments.size();
  std::string bytes;
  for (const std::string &module : modules) {
    bytes.resize(roundUp(bytes.size(), 64));
    auto entry = std::make_unique<fb::ModuleT>();
    entry->offset = bytes.size();
    entry->size = module.size();
    bytes += module;
    code->modules.push_back(std::move(entry));
  }
  // Programmatic launch came with 9.0. PTX may run on older GPUs.
  bool overlap = runtime::gpuTargetNamed(target)->capability >= 90;
  for (auto [index, program] : llvm::enumerate(programs.all)) {
    uint32_t module = modules.size() == 1 ? 0 : index;
    if (index >= programs.seeds) {
      auto fill = std::make_unique<fb::SeedFillT>();
      fill->format = numericFormat(programs.seeded[index - programs.seeds]).name;
      fill->variant = variantOf(program.variants.front(), module, /*overlap=*/false);
      code->seed_fills.push_back(std::move(fill));
      continue;
    }
    for (const cuda::CudaVariant &variant : program.variants) {
      bool first = &variant == program.variants.data();
      if (first || (index >= programs.sample && variant.symbol != std::prev(&variant)->symbol))
        code->variants.push_back(std::make_unique<fb::KernelVariantsT>());
      code->variants.back()->variants.push_back(variantOf(variant, module, overlap));
    }
  }
  code->costs = gpuCosts(kernels, table, *code);
  uint64_t size = bytes.size();
  table.code.push_back(std::move(code));
  segments.push_back(segmentOf(fb::SegmentKind::Code, std::move(bytes)));
  return size;
}

/// Code for targets that share one text; adds to `sum`.
static Result<void> addCodeOf(ArrayRef<kernel::FuncOp> kernels, ArrayRef<std::string> targets,
                              const cuda::EmitOptions &text, const GpuCodeOptions &options,
                              fb::ProgramT &table, std::vector<SegmentSource> &segments,
                              GpuCode &sum) {
  auto programs = listOf(kernels, text, options, table);
  if (!programs)
    return programs.error();
  std::vector<std::string> architectures, named;
  for (const std::string &target : targets)
    if (runtime::gpuTargetNamed(target)->kind != GpuTarget::Kind::Emulator) {
      named.push_back(target);
      architectures.push_back(target.substr(target.find(':') + 1));
    }
  std::string problem;
  std::unique_ptr<Cached> kept = options.cache ? std::make_unique<Cached>(*options.cache) : nullptr;
  if (!architectures.empty()) {
    auto compiled =
        cuda::compilePrograms(programs->all, architectures, options.threads, problem, kept.get());
    if (failed(compiled))
      return problemError("E0461", problem);
    for (auto [target, modules] : llvm::zip_equal(named, *compiled)) {
      std::vector<std::string> files;
      for (const cuda::CompiledProgram &module : modules) {
        files.emplace_back(module.code.begin(), module.code.end());
        if (runtime::gpuTargetNamed(target)->kind == GpuTarget::Kind::Ptx &&
            !files.back().ends_with('\0'))
          files.back() += '\0'; // the driver looks for the end of the text
      }
      sum.bytes += addCode(target, kernels, *programs, files, table, segments);
    }
  }
  for (const std::string &target : targets) {
    if (runtime::gpuTargetNamed(target)->kind != GpuTarget::Kind::Emulator)
      continue;
    cuda::EmulatorOptions how;
    how.architecture = target.substr(target.find(':') + 1);
    how.threads = options.threads;
    how.kept = kept.get();
    auto object = cuda::compileForEmulator(programs->all, how, problem);
    if (failed(object))
      return problemError("E0462", problem);
    sum.bytes += addCode(target, kernels, *programs, std::string(object->begin(), object->end()),
                         table, segments);
  }
  sum.programs = programs->all.size();
  return {};
}

Result<GpuCode> compiler::addGpuCode(ArrayRef<kernel::FuncOp> kernels,
                                     const GpuCodeOptions &options, fb::ProgramT &table,
                                     std::vector<SegmentSource> &segments) {
  addWorkspace(kernels, table);
  const cuda::SharedAttention shared = cuda::sharedAttention(kernels);
  table.attention_shares = shared.shares, table.attention_slots = shared.slots;
  IdSection(table, options.vocabulary);
  GpuCode sum;
  for (bool wgmma : {false, true}) {
    std::vector<std::string> alike;
    for (const std::string &target : options.targets)
      if (optionsFor(target, options.batchInvariant).wgmma == wgmma)
        alike.push_back(target);
    if (alike.empty())
      continue;
    if (auto added = addCodeOf(kernels, alike, {wgmma}, options, table, segments, sum); !added)
      return added.error();
  }
  return sum;
}

Result<std::string> compiler::printCuda(ArrayRef<kernel::FuncOp> kernels,
                                        ArrayRef<std::string> targets, bool batchInvariant) {
  auto programs = programsOf(kernels, optionsFor(targets.front(), batchInvariant));
  if (!programs)
    return programs.error();
  std::string text;
  for (const cuda::CudaProgram &program : *programs)
    text += program.source + "\n";
  return text;
}
