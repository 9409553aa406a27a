//===- CpuTarget.cpp - CPUs: one shared object per level ------------------===//
#include "codegen/CompilerIdentity.h"
#include "codegen/cpu/CpuCodegen.h"
#include "codegen/cpu/Disassembly.h"
#include "compiler/options/OutputPlace.h"
#include "compiler/targets/CodeTarget.h"
#include "compiler/targets/KernelWork.h"
#include "compiler/targets/cpu/CheckCode.h"
#include "compiler/targets/cpu/Schedules.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/abi/Batch.h"
#include "runtime/engine/Isa.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

class CpuJob : public CodeJob {
public:
  explicit CpuJob(const CodeContext &context) : context(context), options(context.options) {}

  Result<void> emit(ArrayRef<kernel::FuncOp> kernels) override {
    const codegen::cpu::Isa &isa = *codegen::cpu::isaNamed(options.targets.back());
    ScheduledKernels scheduled(kernels, isa);
    std::string all;
    auto underWay = suspectCode(kernels, "cpu:" + std::string(isa.name));
    for (kernel::FuncOp fn : scheduled.kernels()) {
      underWay(fn.getSymName());
      auto printed =
          codegen::cpu::printKernel(fn, isa,
                                    options.emit == Emit::Asm ? codegen::cpu::CodeText::Assembly
                                                              : codegen::cpu::CodeText::Llvm);
      if (failed(printed))
        return context.compilerError("kernel " + fn.getSymName().str() + " has no code");
      all += *printed;
    }
    underWay("");
    return writeText(all, options.output);
  }

  Result<std::string> addCode(ArrayRef<kernel::FuncOp> kernels, fb::ProgramT &table,
                              std::vector<SegmentSource> &segments) override {
    size_t codeBytes = 0;
    for (auto [kernel, fn] : llvm::zip_equal(table.kernels, kernels))
      kernel->scratch_bytes = codegen::cpu::scratchBytes(fn);
    made.clear();
    for (const std::string &level : options.targets) {
      const codegen::cpu::Isa &isa = *codegen::cpu::isaNamed(level);
      if (isa.amx && llvm::is_contained(options.targets, codegen::cpu::kAvx512.name) &&
          !codegen::cpu::gainFromAmx(kernels))
        continue;
      auto owned = std::make_unique<ScheduledKernels>(kernels, isa);
      ScheduledKernels &scheduled = *owned;
      auto code = codeFor(scheduled.kernels(), isa);
      if (failed(code))
        return context.compilerError("code generation for cpu:" + level + " failed");
      codeBytes += code->size();
      auto entry = std::make_unique<fb::CodeObjectT>();
      entry->costs = scheduled.costs();
      entry->target = "cpu:" + level;
      entry->segment = segments.size();
      for (kernel::FuncOp fn : kernels)
        entry->kernel_symbols.push_back(fn.getSymName().str());
      table.code.push_back(std::move(entry));
      made.push_back({&isa, std::move(owned), *code});
      segments.push_back(segmentOf(fb::SegmentKind::Code, std::move(*code)));
    }
    return std::to_string(kernels.size()) + " kernels for " + std::to_string(made.size()) +
           " targets, " + std::to_string(codeBytes / 1000) + " kB" +
           (context.cache ? context.cache->note(kernels.size() * made.size()) : "");
  }

  Result<std::vector<CodeEvidence>> checkCode(ModuleOp plan) override {
    const runtime::CpuFeatures host = runtime::hostCpu();
    auto runsHere = [&](const Made &one) {
      return host.has(*runtime::isaLevelNamed(one.isa->name));
    };
    SmallVector<CodeOfLevel> levels;
    for (const Made &one : made)
      if (runsHere(one))
        levels.push_back({*one.isa, one.kernels->kernels(), one.code});
    std::vector<CodeEvidence> all;
    Result<std::vector<CodeAgreement>> found = std::vector<CodeAgreement>();
    if (!levels.empty())
      found = compiler::checkCode(plan, levels);
    if (!found)
      return found.error();
    auto agreement = found->begin();
    for (const Made &one : made) {
      CodeEvidence evidence{"code of cpu:" + std::string(one.isa->name),
                            "not run: this CPU has " + host.names()};
      if (runsHere(one)) {
        evidence.inputs = std::to_string(agreement->launches) +
                          " launches, seeded weights; allowed: 8 times each op's bound";
        evidence.maxAbs = agreement->largestAbsolute, evidence.maxRel = agreement->largestOfAll();
        evidence.launches = agreement++->launches;
      }
      all.push_back(std::move(evidence));
    }
    return all;
  }

private:
  /// The code of one level that was added to the engine.
  struct Made {
    const codegen::cpu::Isa *isa;
    std::unique_ptr<ScheduledKernels> kernels;
    std::string code;
  };

  /// Returns the code of all kernels for a level. Kernels in the cache are not compiled again.
  FailureOr<std::string> codeFor(ArrayRef<kernel::FuncOp> kernels, const codegen::cpu::Isa &isa) {
    TimingScope scope = context.timing.nest("code of cpu:" + std::string(isa.name));
    std::optional<CachedCode> objects;
    if (context.cache)
      objects.emplace(*context.cache, compilerIdentity());
    auto object = codegen::cpu::compileKernels(
        kernels, isa,
        {static_cast<unsigned>(context.threads), &scope,
         suspectCode(kernels, "cpu:" + std::string(isa.name)), objects ? &*objects : nullptr});
    if (failed(object))
      return failure();
    return std::string(object->begin(), object->end());
  }

  const CodeContext &context;
  const CompileOptions &options;
  std::vector<Made> made;
};

class CpuTarget : public CodeTarget {
public:
  DeviceKind kind() const override { return DeviceKind::Cpu; }
  bool (*kvFormats() const)(const KvFormatInfo &) override { return isOfCpus; }
  bool hasExact() const override { return true; }
  bool readsBf16Rows() const override { return false; }
  lm::WeightLayout weightLayout(lm::WeightType, ArrayRef<Operation *>) const override {
    return lm::WeightLayout::Panel32;
  }
  kernel::KernelShape shapeOf(kernel::FuncOp kernel) const override {
    return codegen::cpu::kernelShape(kernel);
  }
  void addLoweringPasses(AddPass add) const override { add(createFoldArgmaxPass({kind()})); }
  void addPlanningPasses(AddPass) const override {}

  bool isWanted(const CompileOptions &options) const override { return !options.targets.empty(); }
  std::vector<std::string> wanted(const CompileOptions &options, bool) const override {
    std::vector<std::string> words;
    for (const std::string &level : options.targets)
      words.push_back("cpu:" + level);
    return words;
  }
  bool emits(Emit stage) const override { return stage == Emit::Llvm || stage == Emit::Asm; }
  int64_t greedyRows() const override { return kGreedyRows; }
  const std::string &kv(const CompileOptions &options) const override { return options.kv; }
  std::pair<const char *, const char *> phases() const override { return {"plan", "kernels"}; }
  llvm::Expected<std::vector<CodeText>> listCode(StringRef, StringRef object,
                                                 llvm::function_ref<ArrayRef<kernel::FuncOp>()>,
                                                 bool) const override {
    auto functions = codegen::cpu::disassemble(object);
    if (!functions)
      return functions.takeError();
    std::vector<CodeText> all;
    for (codegen::cpu::DisassembledFunction &function : *functions)
      all.push_back({std::move(function.name), std::move(function.text)});
    return all;
  }
  std::unique_ptr<CodeJob> begin(const CodeContext &context) const override {
    return std::make_unique<CpuJob>(context);
  }
};

} // namespace

const CodeTarget &compiler::cpuTarget() {
  static const CpuTarget target;
  return target;
}
