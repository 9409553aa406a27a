//===- GpuCode.cpp --------------------------------------------------------===//
#include "compiler/targets/cuda/GpuCode.h"
#include "codegen/cuda/CudaCodegen.h"
#include "codegen/cuda/Sass.h"
#include "compiler/targets/KernelWork.h"
#include "compiler/targets/cuda/GpuCosts.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/engine/GpuTarget.h"
#include "runtime/formats/PanelLayout.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

using runtime::GpuTarget;

bool compiler::usesWgmma(StringRef target, bool batchInvariant) {
  const runtime::GpuArch *arch = runtime::gpuArchOf(target);
  return arch && arch->wgmma && !batchInvariant;
}

static codegen::cuda::EmitOptions optionsFor(StringRef target, bool batchInvariant) {
  codegen::cuda::EmitOptions options;
  options.wgmma = usesWgmma(target, batchInvariant);
  return options;
}

static Result<std::vector<codegen::cuda::CudaProgram>>
programsOf(ArrayRef<kernel::FuncOp> kernels, const codegen::cuda::EmitOptions &options) {
  std::vector<codegen::cuda::CudaProgram> programs;
  auto underWay = suspectCode(kernels, "GPUs");
  for (kernel::FuncOp fn : kernels) {
    underWay(fn.getSymName());
    auto program = codegen::cuda::emitKernel(fn, options);
    if (failed(program))
      return Error{ExitCode::Internal, errors::kNoGpuKernel,
                   "kernel " + fn.getSymName().str() + " cannot be generated for GPUs", "",
                   "omit GPU targets, and please report it with the checkpoint's config"};
    programs.push_back(std::move(*program));
  }
  underWay("");
  return programs;
}

/// Splits the three lines that a code generator returns into the error, the reason and the remedy.
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

static std::unique_ptr<fb::Extent> extentOf(const codegen::cuda::LaunchExtent &extent) {
  constexpr fb::GridBase bases[] = {
      fb::GridBase::Constant, fb::GridBase::Tokens,      fb::GridBase::Rows, fb::GridBase::Tiles,
      fb::GridBase::Shares,   fb::GridBase::PromptTiles, fb::GridBase::Spans};
  return std::make_unique<fb::Extent>(bases[extent.base], extent.multiply, extent.divide);
}

static std::unique_ptr<fb::VariantT> variantOf(const codegen::cuda::CudaVariant &from,
                                               uint32_t module, bool overlap) {
  auto to = std::make_unique<fb::VariantT>();
  to->module_ = module;
  to->symbol = from.symbol;
  if (from.maxCount != codegen::cuda::kUnlimited)
    (from.guardBase == codegen::cuda::LaunchExtent::Rows ? to->max_rows : to->max_tokens) =
        from.maxCount;
  if (from.maxTileTokens != codegen::cuda::kUnlimited)
    to->max_tile_tokens = from.maxTileTokens;
  to->x = extentOf(from.grid[0]);
  to->y = extentOf(from.grid[1]);
  to->z = extentOf({});
  to->threads = from.threads;
  to->shared_bytes = from.sharedBytes;
  to->overlap = overlap && from.pdl;
  to->cluster = from.cluster > 1 ? from.cluster : 0;
  for (const codegen::cuda::TensorMapOf &from : from.tensorMaps) {
    auto map = std::make_unique<fb::TensorMapT>();
    map->operand = from.operand;
    map->element = fb::TensorElement::BF16;
    map->box_rows = from.boxRows;
    map->box_columns = 64;
    map->unit_rows = from.unitRows;
    map->swizzle = true;
    to->tensor_maps.push_back(std::move(map));
  }
  return to;
}

namespace {
/// All CUDA programs of an engine: one for each kernel, and one for each format in which the device generates weights.
struct ProgramList {
  std::vector<codegen::cuda::CudaProgram> all;
  size_t seeds = 0; ///< seeded[i] is at seeds + i
  std::vector<WeightFormat> seeded;
};
} // namespace

static Result<ProgramList> listOf(ArrayRef<kernel::FuncOp> kernels,
                                  const codegen::cuda::EmitOptions &text,
                                  const fb::ProgramT &table) {
  auto programs = programsOf(kernels, text);
  if (!programs)
    return programs.error();
  ProgramList list{std::move(*programs), 0, {}};
  list.seeds = list.all.size();
  for (const auto &weight : table.weights) {
    if (weight->source != fb::WeightSource::Seed || weight->layout != fb::WeightLayout::Fragment16)
      continue;
    WeightFormat format = *weightFormatNamed(weight->format);
    if (llvm::is_contained(list.seeded, format))
      continue;
    list.seeded.push_back(format);
    list.all.push_back(codegen::cuda::seedProgram(format));
  }
  return list;
}

/// Adds a code object with the compiled files `modules`. Program p is in module p, or all programs are in the only
/// module. Returns the size of the code.
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
  // Programmatic launch requires compute capability 9.0. PTX may run on older GPUs.
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
    auto &variants = code->variants.emplace_back(std::make_unique<fb::KernelVariantsT>());
    for (const codegen::cuda::CudaVariant &variant : program.variants)
      variants->variants.push_back(variantOf(variant, module, overlap));
  }
  code->costs = gpuCosts(kernels, table, *code);
  uint64_t size = bytes.size();
  table.code.push_back(std::move(code));
  segments.push_back(segmentOf(fb::SegmentKind::Code, std::move(bytes)));
  return size;
}

/// Compiles the programs to host code for the target's architecture.
static Result<std::string> emulated(ArrayRef<codegen::cuda::CudaProgram> programs,
                                    const std::string &target, const GpuCodeOptions &options) {
  std::string problem;
  codegen::cuda::EmulatorOptions how;
  how.architecture = "sm_" + target.substr(target.rfind('_') + 1); // also for PTX
  how.threads = options.threads;
  how.cache = options.cache;
  auto object = codegen::cuda::compileForEmulator(programs, how, problem);
  if (failed(object))
    return problemError("E0462", problem);
  return std::string(object->begin(), object->end());
}

Result<std::string> compiler::codeForEmulator(ArrayRef<kernel::FuncOp> kernels,
                                              const std::string &target,
                                              const GpuCodeOptions &options) {
  auto programs = programsOf(kernels, optionsFor(target, options.batchInvariant));
  if (!programs)
    return programs.error();
  return emulated(*programs, target, options);
}

/// Adds code for targets that share one program text, and adds its size to `sum`.
static Result<void> addCodeOf(ArrayRef<kernel::FuncOp> kernels, ArrayRef<std::string> targets,
                              const codegen::cuda::EmitOptions &text, const GpuCodeOptions &options,
                              fb::ProgramT &table, std::vector<SegmentSource> &segments,
                              GpuCode &sum) {
  auto programs = listOf(kernels, text, table);
  if (!programs)
    return programs.error();
  std::vector<std::string> architectures, named;
  for (const std::string &target : targets)
    if (runtime::gpuTargetNamed(target)->kind != GpuTarget::Kind::Emulator) {
      named.push_back(target);
      architectures.push_back(target.substr(target.find(':') + 1));
    }
  std::string problem;
  if (!architectures.empty()) {
    auto compiled =
        codegen::cuda::compilePrograms(programs->all, architectures, options.threads, problem,
                                       options.cache, suspectCode(kernels, "GPUs, by NVRTC,"));
    if (failed(compiled))
      return problemError("E0461", problem);
    for (auto [target, modules] : llvm::zip_equal(named, *compiled)) {
      std::vector<std::string> files;
      for (const codegen::cuda::CompiledProgram &module : modules) {
        files.emplace_back(module.code.begin(), module.code.end());
        if (runtime::gpuTargetNamed(target)->kind == GpuTarget::Kind::Ptx &&
            !files.back().ends_with('\0'))
          files.back() += '\0'; // the driver expects NUL-terminated text
      }
      sum.bytes += addCode(target, kernels, *programs, files, table, segments);
    }
  }
  for (const std::string &target : targets) {
    if (runtime::gpuTargetNamed(target)->kind != GpuTarget::Kind::Emulator)
      continue;
    auto object = emulated(programs->all, target, options);
    if (!object)
      return object.error();
    sum.bytes += addCode(target, kernels, *programs, *object, table, segments);
    sum.emulated[target] = std::move(*object);
  }
  sum.programs = programs->all.size();
  return {};
}

Result<GpuCode> compiler::addGpuCode(ArrayRef<kernel::FuncOp> kernels,
                                     const GpuCodeOptions &options, fb::ProgramT &table,
                                     std::vector<SegmentSource> &segments) {
  const codegen::cuda::SharedAttention shared = codegen::cuda::sharedAttention(kernels);
  table.attention_shares = shared.shares, table.attention_slots = shared.slots;
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
  for (const codegen::cuda::CudaProgram &program : *programs)
    text += program.source + "\n";
  return text;
}

/// Disassembles all functions of a cubin, in order.
static llvm::Expected<std::string> sassOf(const std::string &disassembler, StringRef cubin) {
  std::vector<codegen::cuda::SassFunction> functions;
  std::string problem, text;
  if (!codegen::cuda::disassembleCubin(disassembler, cubin, functions, problem))
    return llvm::createStringError(problem);
  for (const codegen::cuda::SassFunction &function : functions)
    text += function.symbol + ":\n" + function.text + "\n";
  return text;
}

Result<std::string> compiler::printSass(ArrayRef<kernel::FuncOp> kernels,
                                        const GpuCodeOptions &options) {
  const std::string &target = options.targets.front();
  const GpuTarget::Kind kind = runtime::gpuTargetNamed(target)->kind;
  if (kind == GpuTarget::Kind::Emulator)
    return Error{ExitCode::Usage, "E0400", target + " has no GPU machine code",
                 "the emulator runs CPU code",
                 "--target cuda:" + target.substr(target.find(':') + 1) + ", or --emit cuda"};
  const std::string disassembler = codegen::cuda::findDisassembler();
  if (disassembler.empty() && kind == GpuTarget::Kind::Cubin)
    return Error{ExitCode::File, "E0494", "nvdisasm, the disassembler of GPU code, was not found",
                 "neither next to NVRTC nor in PATH",
                 std::string(codegen::cuda::kDisassemblerHint) + "; --emit cuda does not need it"};
  auto programs = programsOf(kernels, optionsFor(target, options.batchInvariant));
  if (!programs)
    return programs.error();
  std::string problem, all;
  auto compiled = codegen::cuda::compilePrograms(*programs, {target.substr(target.find(':') + 1)},
                                                 options.threads, problem, nullptr,
                                                 suspectCode(kernels, "GPUs, by NVRTC,"));
  if (failed(compiled))
    return problemError("E0461", problem);
  for (const codegen::cuda::CompiledProgram &program : compiled->front()) {
    const StringRef code(program.code.data(), program.code.size());
    if (kind == GpuTarget::Kind::Ptx) {
      all += code.rtrim('\0').str();
      continue;
    }
    auto text = sassOf(disassembler, code);
    if (!text)
      return Error{ExitCode::File, "E0494", "the code of a kernel cannot be disassembled",
                   llvm::toString(text.takeError()), "--emit cuda does not need the disassembler"};
    all += *text;
  }
  return all;
}

llvm::Expected<std::vector<std::string>> compiler::sassOfModules(StringRef object) {
  const std::string disassembler = codegen::cuda::findDisassembler();
  if (disassembler.empty())
    return llvm::createStringError(std::string("for machine code: ") +
                                   codegen::cuda::kDisassemblerHint);
  std::vector<std::string> modules;
  while (const size_t size = codegen::cuda::sizeOfElf(object)) {
    auto text = sassOf(disassembler, object.take_front(size));
    if (!text)
      return text.takeError();
    modules.push_back(std::move(*text));
    object = object.drop_front(std::min<size_t>(roundUp(int64_t(size), 64), object.size()));
  }
  return modules;
}
