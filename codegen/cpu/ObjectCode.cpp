//===- ObjectCode.cpp - MLIR → LLVM dialect → LLVM IR → ELF object --------===//
#include "codegen/cpu/ObjectCode.h"
#include "codegen/cpu/MathApproximation.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;
using namespace ingot::codegen::cpu;

/// Returns whether the module has functions of a custom kernel in addition to the kernel (Custom.cpp).
static bool hasBodies(ModuleOp module) {
  return !llvm::hasSingleElement(module.getOps<func::FuncOp>());
}

static LogicalResult lowerToLlvm(ModuleOp module) {
  // exp and similar functions become explicit polynomials, which give the same bits everywhere and need no libm.
  RewritePatternSet patterns(module.getContext());
  populateIngotMathPatterns(patterns);
  walkAndApplyPatterns(module, std::move(patterns));
  PassManager pm(module.getContext());
  // The generators' output is verified (CpuCodegen.cpp), and so is the result. Verification after every pass would
  // take longer than the passes.
  pm.enableVerifier(false);
  pm.addPass(createCSEPass());
  const bool bodies = hasBodies(module);
  if (bodies) {
    pm.addPass(createConvertVectorToSCFPass());
    pm.addPass(memref::createExpandStridedMetadataPass());
  }
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  if (bodies)
    pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  return success(succeeded(pm.run(module)) && succeeded(verify(module)));
}

/// The generators have already unrolled and ordered the code; only address arithmetic is left. The O2
/// pipeline gives no faster code in eight times the time. It is used for the functions of custom
/// kernels, which are loops over single values.
static LogicalResult optimise(llvm::Module &module, llvm::TargetMachine &machine, bool bodies) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  llvm::ModulePassManager passes;
  if (auto error = builder.parsePassPipeline(
          passes, bodies ? "default<O2>" : "function(instcombine,loop-mssa(licm),early-cse)"))
    return llvm::consumeError(std::move(error)), failure();
  passes.run(module, modules);
  return success();
}

static std::unique_ptr<llvm::TargetMachine> targetMachine(const Isa &isa) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict; // an fma only where the IR has one
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, isa.cpu, isa.features, options, llvm::Reloc::PIC_));
}

FailureOr<std::string> ingot::codegen::cpu::emitCode(ModuleOp module, const Isa &isa, CodeForm form,
                                                     TimingScope &timing) {
  const bool bodies = hasBodies(module);
  TimingScope stage = timing.nest("lowering to the LLVM dialect");
  if (failed(lowerToLlvm(module)))
    return failure();
  stage = timing.nest("translation to LLVM IR");
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  std::unique_ptr<llvm::TargetMachine> machine = targetMachine(isa);
  if (!code || !machine)
    return module.emitError("cannot be translated to LLVM IR for ") << isa.name;
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  for (llvm::Function &fn : *code)
    if (!fn.isDeclaration()) {
      fn.addFnAttr(llvm::Attribute::NoUnwind); // no .eh_frame
      if (bodies)
        fn.addFnAttr("no-builtins"); // a loop stays a loop: there is no memset to call
    }
  stage = timing.nest("LLVM's passes");
  if (failed(optimise(*code, *machine, bodies)))
    return failure();
  stage = timing.nest("LLVM's code generator");

  llvm::SmallString<0> out;
  llvm::raw_svector_ostream stream(out);
  if (form == CodeForm::LlvmIr) {
    code->print(stream, nullptr);
    return std::string(out);
  }
  llvm::legacy::PassManager emit;
  auto kind = form == CodeForm::Assembly ? llvm::CodeGenFileType::AssemblyFile
                                         : llvm::CodeGenFileType::ObjectFile;
  if (machine->addPassesToEmitFile(emit, stream, nullptr, kind))
    return module.emitError("cannot be emitted for ") << isa.name;
  emit.run(*code);
  return std::string(out);
}
