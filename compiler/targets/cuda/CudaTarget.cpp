//===- CudaTarget.cpp - GPUs, and the emulator of them --------------------===//
#include "codegen/cuda/CudaCodegen.h"
#include "compiler/console/OutputPlace.h"
#include "compiler/targets/CodeTarget.h"
#include "compiler/targets/cuda/GpuCode.h"
#include "dialects/kernel/ops/Structure.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

class CudaJob : public CodeJob {
public:
  explicit CudaJob(const CodeContext &context) : context(context), options(context.options) {}

  Result<void> emit(ArrayRef<kernel::FuncOp> kernels) override {
    auto printed = printCuda(kernels, options.gpuTargets, options.batchInvariant);
    if (!printed)
      return printed.error();
    return writeText(*printed, options.output);
  }

  Result<std::string> addCode(ArrayRef<kernel::FuncOp> kernels, fb::ProgramT &table,
                              std::vector<SegmentSource> &segments) override {
    CodeCache *cache = context.cache ? &*context.cache : nullptr;
    auto code = addGpuCode(
        kernels,
        {options.gpuTargets, options.batchInvariant, context.threads, cache, context.identity},
        table, segments);
    if (!code)
      return code.error();
    uint64_t weightBytes = 0;
    for (const auto &weight : table.weights)
      if (weight->source == fb::WeightSource::Stored)
        weightBytes += weight->size;
    return std::to_string(code->programs) + " kernels for " +
           std::to_string(options.gpuTargets.size()) + " targets, " +
           std::to_string(code->bytes / 1000) + " kB" +
           (cache ? cache->note(code->programs * options.gpuTargets.size()) : "") + "; " +
           std::to_string(weightBytes / 1000000) + " MB of weights";
  }

private:
  const CodeContext &context;
  const CompileOptions &options;
};

class CudaTarget : public CodeTarget {
public:
  StringRef name() const override { return "cuda"; }
  bool (*kvFormats() const)(const KvFormatInfo &) override { return isOfGpus; }
  bool hasExact() const override { return false; }
  bool readsBf16Rows() const override { return true; }
  lm::WeightLayout weightLayout(lm::WeightType type, ArrayRef<Operation *> readers) const override {
    // Of vectors, of which each expert has its own, a panel is padded to whole tiles.
    if (type.isVectors())
      return lm::WeightLayout::Panel32;
    return readers.empty() ? lm::WeightLayout::Fragment16 : cuda::matrixLayout(readers.front());
  }
  void addLoweringPasses(AddPass add) const override {
    // Who has the logits at hand looks for the largest.
    add(createFoldArgmaxPass({name().str()}));
    // Rows that only code for many tokens reads are made for many.
    add(createFp8CasesPass({cuda::kFewTokens}));
    // A launch costs more than recomputing what it does, as long as tokens are few. Norms last, whose cases hold the others'.
    add(createAppendEpiloguesPass({name().str()}));
    add(createNormProloguesPass({name().str()}));
  }
  void addPlanningPasses(AddPass add) const override {
    // All memory of a step is the plan's to place.
    add(createAddWorkspacesPass({name().str()}));
    // Ids are found where the logits are.
    add(createFindIdsPass({name().str()}));
  }
  kernel::KernelShape shapeOf(kernel::FuncOp kernel) const override {
    return cuda::kernelShape(kernel);
  }
  int64_t drawSumsBytes(int64_t vocabulary) const override {
    return cuda::drawSumsBytes(vocabulary);
  }

  bool isWanted(const CompileOptions &options) const override {
    return !options.gpuTargets.empty();
  }
  bool emits(Emit stage) const override { return stage == Emit::Cuda; }
  const std::string &kv(const CompileOptions &options) const override { return options.gpuKv; }
  void choosePasses(const CompileOptions &options, PipelineOptions &passes) const override {
    // Products of fp8 round activations: by wgmma alone, and not where all steps shall give the same
    // bits.
    passes.fp8Rows = llvm::any_of(options.gpuTargets, [&](const std::string &target) {
      return usesWgmma(target, options.batchInvariant);
    });
  }
  std::pair<const char *, const char *> phases() const override { return {"gpu plan", "gpu"}; }
  /// A cubin is read by NVIDIA's tools alone: the text that it is compiled from.
  llvm::Expected<std::vector<CodeText>>
  listCode(StringRef codeTarget, StringRef, llvm::function_ref<ArrayRef<kernel::FuncOp>()> kernels,
           bool batchInvariant) const override {
    std::vector<CodeText> all;
    for (kernel::FuncOp fn : kernels()) {
      auto text = printCuda(fn, codeTarget.str(), batchInvariant);
      if (!text)
        return llvm::createStringError(text.error().what);
      all.push_back({fn.getSymName().str(), std::move(*text)});
    }
    return all;
  }
  Result<std::unique_ptr<CodeJob>> begin(const CodeContext &context) const override {
    return std::unique_ptr<CodeJob>(std::make_unique<CudaJob>(context));
  }
};

} // namespace

const CodeTarget &compiler::cudaTarget() {
  static const CudaTarget target;
  return target;
}
