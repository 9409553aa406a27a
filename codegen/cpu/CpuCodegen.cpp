//===- CpuCodegen.cpp - See CpuCodegen.h ----------------------------------===//
#include "codegen/cpu/CpuCodegen.h"
#include "codegen/cpu/Emitters.h"
#include "codegen/cpu/ObjectCode.h"
#include "codegen/cpu/Threads.h"
#include "dialects/kernel/ops/Attention.h"
#include "dialects/kernel/ops/CausalConv.h"
#include "dialects/kernel/ops/Custom.h"
#include "dialects/kernel/ops/Experts.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/kernel/ops/Rows.h"
#include "dialects/kernel/ops/Structure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/TypeSwitch.h"

#include <atomic>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

kernel::KernelShape ingot::codegen::cpu::kernelShape(kernel::FuncOp kernel) {
  if (auto matmul = dyn_cast<kernel::MatmulOp>(kernel.anchor()))
    return matmulShape(matmul);
  if (!llvm::hasSingleElement(kernel.ops()))
    return {"is fused with other ops, which is not supported on CPUs"};
  return {};
}

static LogicalResult emitBody(KernelBuilder &k, kernel::FuncOp kernel) {
  if (std::string why = kernelShape(kernel).refused; !why.empty())
    return kernel.anchor()->emitOpError(why);
  return llvm::TypeSwitch<Operation *, LogicalResult>(kernel.anchor())
      .Case([&](kernel::MatmulOp op) { return emitMatmul(k, op); })
      .Case([&](kernel::RowwiseOp op) { return emitRowwise(k, op); })
      .Case([&](kernel::GatherOp op) { return emitGather(k, op); })
      .Case([&](kernel::RopeTableOp op) { return emitRopeTable(k, op); })
      .Case([&](kernel::RopeAppendOp op) { return emitRopeAppend(k, op); })
      .Case([&](kernel::AttentionOp op) { return emitAttention(k, op); })
      .Case([&](kernel::CausalConvOp op) { return emitCausalConv(k, op); })
      .Case([&](kernel::CustomOp op) { return emitCustom(k, op); })
      .Case([&](kernel::RouteOp op) { return emitRoute(k, op); })
      .Case([&](kernel::GroupRoutesOp op) { return emitGroupRoutes(k, op); })
      .Case([&](kernel::CombineOp op) { return emitCombine(k, op); })
      .Default([](Operation *op) { return op->emitOpError("has no CPU code generator"); });
}

/// Generates a module with one function: the kernel's body, in generic dialects.
static FailureOr<OwningOpRef<ModuleOp>> generate(kernel::FuncOp kernel, const Isa &isa) {
  MLIRContext *context = kernel.getContext();
  OwningOpRef<ModuleOp> module(ModuleOp::create(kernel.getLoc()));
  auto b = ImplicitLocOpBuilder::atBlockEnd(kernel.getLoc(), module->getBody());
  Type ptr = LLVM::LLVMPointerType::get(context), i64 = b.getI64Type();
  auto type = b.getFunctionType({ptr, ptr, i64, i64, i64, ptr, i64}, {});
  auto fn = func::FuncOp::create(b, kernel.getName(), type);
  b.setInsertionPointToStart(fn.addEntryBlock());
  KernelBuilder k(b, isa, kernel.getBody().front(), fn);
  if (failed(kernel::expectLayout(kernel, lm::WeightLayout::Panel32)) ||
      failed(emitBody(k, kernel)))
    return failure();
  func::ReturnOp::create(b);
  if (failed(verify(*module)))
    return failure();
  return module;
}

/// Returns a kernel as text, which a thread parses into its own context.
static std::string textOf(kernel::FuncOp kernel) {
  std::string text;
  llvm::raw_string_ostream out(text);
  kernel->print(out, OpPrintingFlags().useLocalScope().printGenericOpForm());
  return text;
}

/// Returns a prefix such as "body of my.op:3:5: " if the diagnostic is about the text of a custom kernel.
static std::string placeOf(Diagnostic &diagnostic) {
  auto at = dyn_cast<FileLineColLoc>(diagnostic.getLocation());
  if (!at || !at.getFilename().getValue().starts_with("body of "))
    return "";
  return (at.getFilename().getValue() + ":" + llvm::Twine(at.getLine()) + ":" +
          llvm::Twine(at.getColumn()) + ": ")
      .str();
}

namespace {
/// The compilation context of one thread.
class Workplace {
public:
  Workplace() : context(registry(), MLIRContext::Threading::DISABLED) {
    // The region of a custom kernel may have ops of dialects that are not loaded here. Only its operands matter.
    context.allowUnregisteredDialects();
    context.loadAllAvailableDialects();
  }

  /// Returns the code of a kernel, or its MLIR if `form` is absent. On failure `problem` has the reason.
  FailureOr<std::string> compile(const std::string &text, const Isa &isa,
                                 std::optional<CodeForm> form, std::string &problem,
                                 TimingScope &timing) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        problem += (problem.empty() ? "" : "; ") + placeOf(diagnostic) + diagnostic.str();
    });
    TimingScope generating = timing.nest("generation");
    auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    if (!module)
      return failure();
    FailureOr<OwningOpRef<ModuleOp>> code =
        generate(*module->getOps<kernel::FuncOp>().begin(), isa);
    if (failed(code))
      return failure();
    generating.stop();
    if (form)
      return emitCode(**code, isa, *form, timing);
    std::string printed;
    llvm::raw_string_ostream out(printed);
    (*code)->print(out);
    return printed;
  }

private:
  static const DialectRegistry &registry() {
    static const DialectRegistry dialects = [] {
      DialectRegistry all;
      all.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                 memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect, lm::LmDialect,
                 kernel::KernelDialect>();
      return all;
    }();
    return dialects;
  }

  MLIRContext context;
};
} // namespace

static bool gainsFromAmx(kernel::FuncOp kernel) {
  auto matmul = dyn_cast<kernel::MatmulOp>(kernel.anchor());
  return matmul && usesAmx(matmul, kAmx);
}

bool ingot::codegen::cpu::gainFromAmx(ArrayRef<kernel::FuncOp> kernels) {
  return llvm::any_of(kernels, gainsFromAmx);
}

FailureOr<std::vector<char>> ingot::codegen::cpu::compileKernels(ArrayRef<kernel::FuncOp> kernels,
                                                                 const Isa &isa,
                                                                 const CodegenOptions &options) {
  // The inputs that determine an object: the kernel as the generators read it, and the level with its LLVM CPU and
  // features.
  struct Job {
    std::vector<std::string> key;
    const Isa *isa;
    kernel::FuncOp kernel;
    std::string *object;
    std::string name, problem;
    bool failed = false;
  };
  std::vector<std::string> objects(kernels.size());
  std::vector<Job> jobs; // kernels that are not in the cache
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernel::FuncOp kernel = kernels[i];
    // A kernel that does not use AMX is compiled for avx512, so both levels share one object in the cache.
    const Isa &own = isa.amx && !isa.emulated && !gainsFromAmx(kernel) ? kAvx512 : isa;
    std::string level = ("cpu:" + llvm::Twine(own.name) + " " + own.cpu + " " + own.features).str();
    std::vector<std::string> key{std::move(level), textOf(kernel)};
    auto known = options.cache ? options.cache->lookup(key) : std::nullopt;
    if (known)
      objects[i] = std::move(*known);
    else
      jobs.push_back({std::move(key), &own, kernel, &objects[i], kernel.getSymName().str(), ""});
  }
  auto report = [&](llvm::StringRef kernel) {
    if (options.underWay)
      options.underWay(kernel);
  };

  TimingScope untimed, &timing = options.timing ? *options.timing : untimed;
  std::atomic<size_t> next = 0;
  auto work = [&] {
    Workplace place;
    for (size_t i; (i = next++) < jobs.size();) {
      Job &job = jobs[i];
      report(job.name);
      FailureOr<std::string> object =
          place.compile(job.key.back(), *job.isa, CodeForm::Object, job.problem, timing);
      job.failed = failed(object);
      if (!job.failed)
        *job.object = std::move(*object);
    }
    report("");
  };
  if (!jobs.empty())
    runOnThreads(std::min<size_t>(options.threads, jobs.size()), work);

  bool bad = false;
  for (Job &job : jobs)
    if (job.failed) {
      job.kernel.emitError("cannot be compiled for ") << isa.name << ": " << job.problem;
      bad = true;
    }
  if (bad || kernels.empty())
    return failure();
  if (options.cache)
    for (const Job &job : jobs)
      options.cache->store(job.key, *job.object);
  TimingScope linking = timing.nest("linking");
  std::string problem;
  FailureOr<std::vector<char>> image = linkShared(objects, problem);
  if (failed(image))
    kernel::FuncOp(kernels.front()).emitError("the kernels cannot be linked: ") << problem;
  return image;
}

FailureOr<std::string> ingot::codegen::cpu::printKernel(kernel::FuncOp kernel, const Isa &isa,
                                                        CodeText text) {
  std::optional<CodeForm> form;
  if (text != CodeText::Mlir)
    form = text == CodeText::Llvm ? CodeForm::LlvmIr : CodeForm::Assembly;
  std::string problem;
  TimingScope untimed;
  FailureOr<std::string> printed = Workplace().compile(textOf(kernel), isa, form, problem, untimed);
  if (failed(printed))
    kernel.emitError("cannot be compiled for ") << isa.name << ": " << problem;
  return printed;
}

int64_t ingot::codegen::cpu::scratchBytes(kernel::FuncOp kernel) {
  return llvm::TypeSwitch<Operation *, int64_t>(kernel.anchor())
      .Case([](kernel::MatmulOp op) { return matmulScratchBytes(op); })
      .Case([](kernel::RowwiseOp op) { return rowwiseScratchBytes(op); })
      .Case([](kernel::RopeAppendOp op) { return ropeAppendScratchBytes(op); })
      .Case([](kernel::AttentionOp op) { return attentionScratchBytes(op); })
      .Case([](kernel::CausalConvOp op) { return causalConvScratchBytes(op); })
      .Case([](kernel::CustomOp op) { return customScratchBytes(op); })
      .Case([](kernel::RouteOp op) { return routeScratchBytes(op); })
      .Case([](kernel::GroupRoutesOp op) { return groupRoutesScratchBytes(op); })
      .Default([](Operation *) { return int64_t(0); });
}
