//===- CudaTarget.cpp - GPUs, and their emulator --------------------------===//
#include "codegen/cuda/CudaCodegen.h"
#include "compiler/options/OutputPlace.h"
#include "compiler/targets/CodeTarget.h"
#include "compiler/targets/cuda/CheckCode.h"
#include "compiler/targets/cuda/GpuCode.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/engine/GpuTarget.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

class CudaJob : public CodeJob {
public:
  explicit CudaJob(const CodeContext &context) : context(context), options(context.options) {}

  Result<void> emit(ArrayRef<kernel::FuncOp> kernels) override {
    auto printed = options.emit == Emit::Asm
                       ? printSass(kernels, howToMake())
                       : printCuda(kernels, options.gpuTargets, options.batchInvariant);
    if (!printed)
      return printed.error();
    return writeText(*printed, options.output);
  }

  Result<std::string> addCode(ArrayRef<kernel::FuncOp> kernels, fb::ProgramT &table,
                              std::vector<SegmentSource> &segments) override {
    auto code = addGpuCode(kernels, howToMake(), table, segments);
    if (!code)
      return code.error();
    emulated = std::move(code->emulated);
    made.clear();
    for (const auto &object : table.code)
      if (llvm::is_contained(options.gpuTargets, object->target)) {
        fb::CodeObjectT &own = made.emplace_back();
        own.target = object->target;
        for (const auto &variants : object->variants)
          own.variants.push_back(std::make_unique<fb::KernelVariantsT>(*variants));
      }
    checked.assign(kernels.begin(), kernels.end());
    uint64_t weightBytes = 0;
    for (const auto &weight : table.weights)
      if (weight->source == fb::WeightSource::Stored)
        weightBytes += weight->size;
    return std::to_string(code->programs) + " kernels for " +
           std::to_string(options.gpuTargets.size()) + " targets, " +
           std::to_string(code->bytes / 1000) + " kB" +
           (context.cache ? context.cache->note(code->programs * options.gpuTargets.size()) : "") +
           "; " + std::to_string(weightBytes / 1000000) + " MB of weights";
  }

  Result<std::vector<CodeEvidence>> checkCode(ModuleOp plan) override {
    std::vector<CodeEvidence> all;
    for (const fb::CodeObjectT &object : made) {
      CodeEvidence evidence{"code of " + object.target, ""};
      auto image = imageFor(object.target, evidence.inputs);
      if (!image)
        return image.error();
      if (!image->empty())
        if (auto ok = check(plan, object, *image, evidence); !ok)
          return ok.error();
      all.push_back(std::move(evidence));
    }
    return all;
  }

private:
  GpuCodeOptions howToMake() {
    if (context.cache && !programs)
      programs.emplace(*context.cache, "");
    return {options.gpuTargets, options.batchInvariant, context.threads,
            programs ? &*programs : nullptr};
  }

  /// Returns the image of the target's code that the emulator runs. An emulator target has its own image. With
  /// --verify, the kernels of a GPU target are compiled for the emulator as well. If there is no image, returns an
  /// empty string and sets `why`.
  Result<std::string> imageFor(const std::string &target, std::string &why) {
    if (auto own = emulated.find(target); own != emulated.end())
      return own->second;
    if (!options.verify) {
      why = "not run: --verify runs it on the emulator";
      return std::string();
    }
    auto image = codeForEmulator(checked, target, howToMake());
    if (image || image.error().code == errors::kNoGpuKernel)
      return image;
    why = "not run: " + image.error().what +
          (image.error().why.empty() ? "" : ", " + image.error().why);
    return std::string();
  }

  Result<void> check(ModuleOp plan, const fb::CodeObjectT &object, StringRef image,
                     CodeEvidence &evidence) {
    CodeOfArchitecture code;
    code.target = object.target, code.image = image, code.kernels = checked;
    code.variants = fb::CodeObjectT(object);
    code.shared = codegen::cuda::sharedAttention(checked);
    code.textOf = [&](kernel::FuncOp fn) {
      auto text = printCuda(fn, object.target, options.batchInvariant);
      return text ? *text : std::string();
    };
    auto found = compiler::checkOnEmulator(plan, code, context.threads);
    if (!found && found.error().code == errors::kNoEmulator) {
      evidence.inputs = "not run: " + found.error().what;
      return {};
    }
    if (!found)
      return found.error();
    evidence.inputs = std::to_string(found->launches) +
                      " launches on the emulator, seeded weights; allowed: 8 times each op's bound";
    evidence.maxAbs = found->largestAbsolute, evidence.maxRel = found->largestOfAll();
    evidence.launches = found->launches;
    return {};
  }

  const CodeContext &context;
  const CompileOptions &options;
  std::optional<CachedCode> programs; ///< cache of programs, if there is a cache
  std::vector<fb::CodeObjectT> made;  ///< the variants of each target that were added
  std::vector<kernel::FuncOp> checked;
  std::map<std::string, std::string> emulated; ///< code for the emulator, by target
};

class CudaTarget : public CodeTarget {
public:
  DeviceKind kind() const override { return DeviceKind::Cuda; }
  bool (*kvFormats() const)(const KvFormatInfo &) override { return isOfGpus; }
  bool hasExact() const override { return false; }
  bool readsBf16Rows() const override { return true; }
  lm::WeightLayout weightLayout(lm::WeightType type,
                                ArrayRef<Operation *> consumers) const override {
    // A stack of vectors has one vector per expert. Its panels are padded to whole tiles.
    if (type.isVectors())
      return lm::WeightLayout::Panel32;
    return consumers.empty() ? lm::WeightLayout::Fragment16
                             : codegen::cuda::matrixLayout(consumers.front());
  }
  void addLoweringPasses(AddPass add) const override {
    // The launch that computes the logits also finds the largest one.
    add(createFoldArgmaxPass({kind()}));
    // Only code for many tokens reads fp8 rows, so these rows are written only in steps of many tokens.
    add(createFp8CasesPass({codegen::cuda::kFewTokens}));
    // With few tokens a launch costs more than recomputing its results. Norms come last, because their
    // specialisations contain the others'.
    add(createAppendEpiloguesPass({kind()}));
    add(createNormProloguesPass({kind()}));
  }
  void addPlanningPasses(AddPass add) const override {
    // The plan allocates all memory of a step.
    add(createAddWorkspacesPass({kind()}));
    // Ids are found in the step that computes the logits.
    add(createFindIdsPass({kind()}));
  }
  kernel::KernelShape shapeOf(kernel::FuncOp kernel) const override {
    return codegen::cuda::kernelShape(kernel);
  }
  int64_t drawSumsBytes(int64_t vocabulary) const override {
    return codegen::cuda::drawSumsBytes(vocabulary);
  }

  bool isWanted(const CompileOptions &options) const override {
    return !options.gpuTargets.empty();
  }
  std::vector<std::string> wanted(const CompileOptions &options, bool onEmulators) const override {
    std::vector<std::string> words;
    for (StringRef gpu : options.gpuTargets)
      words.push_back(onEmulators && gpu.consume_front("cuda:") ? "cuda-emulator:" + gpu.str()
                                                                : gpu.str());
    return words;
  }
  bool emits(Emit stage) const override { return stage == Emit::Cuda || stage == Emit::Asm; }
  const std::string &kv(const CompileOptions &options) const override { return options.gpuKv; }
  void choosePasses(const CompileOptions &options, PipelineOptions &passes) const override {
    // fp8 MMAs round activations, so they are used only with wgmma, and not if all steps must give the same bits.
    passes.fp8Rows = llvm::any_of(options.gpuTargets, [&](const std::string &target) {
      return usesWgmma(target, options.batchInvariant);
    });
  }
  std::pair<const char *, const char *> phases() const override { return {"gpu plan", "gpu"}; }
  /// For cubins, the output of NVIDIA's disassembler on the code in the engine, if it is installed;
  /// otherwise, and for other code, the CUDA text that was compiled.
  llvm::Expected<std::vector<CodeText>>
  listCode(StringRef codeTarget, StringRef object,
           llvm::function_ref<ArrayRef<kernel::FuncOp>()> kernels,
           bool batchInvariant) const override {
    std::vector<CodeText> all;
    std::string note;
    const auto target = runtime::gpuTargetNamed(codeTarget);
    if (target && target->kind == runtime::GpuTarget::Kind::Cubin) {
      auto modules = sassOfModules(object);
      if (!modules)
        note = "// " + llvm::toString(modules.takeError()) + "\n";
      else if (modules->size() >= kernels().size() && !kernels().empty()) {
        for (auto [fn, text] : llvm::zip(kernels(), *modules))
          all.push_back({kernel::FuncOp(fn).getSymName().str(), std::move(text)});
        return all;
      }
    }
    for (kernel::FuncOp fn : kernels()) {
      auto text = printCuda(fn, codeTarget.str(), batchInvariant);
      if (!text)
        return llvm::createStringError(text.error().what);
      all.push_back({fn.getSymName().str(), note + *text});
    }
    return all;
  }
  std::unique_ptr<CodeJob> begin(const CodeContext &context) const override {
    return std::make_unique<CudaJob>(context);
  }
};

} // namespace

const CodeTarget &compiler::cudaTarget() {
  static const CudaTarget target;
  return target;
}
