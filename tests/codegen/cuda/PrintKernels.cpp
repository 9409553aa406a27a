//===- PrintKernels.cpp - Prints CUDA C++ for a file of kernel IR -----------===//
//
// print-cuda-kernels FILE.mlir [wgmma]           prints the source text that the lit tests check
// print-cuda-kernels FILE.mlir resources ARCH    prints ptxas's registers and memory per variant
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaCodegen.h"
#include "dialects/kernel/ops/Structure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace ingot;

static void print(const codegen::cuda::LaunchExtent &extent) {
  const char *bases[] = {"1", "tokens", "rows", "tiles", "shares", "prompt tiles", "spans"};
  llvm::outs() << bases[extent.base] << " * " << extent.multiply << " / " << extent.divide;
}

/// Compiles to machine code with NVRTC for one architecture (sm_90a with wgmma) and prints ptxas's
/// report.
static int printResources(llvm::ArrayRef<codegen::cuda::CudaProgram> programs,
                          const std::string &architecture) {
  std::string problem;
  auto compiled = codegen::cuda::compilePrograms(programs, {architecture}, 2, problem);
  if (mlir::failed(compiled)) {
    llvm::errs() << problem << "\n";
    return 1;
  }
  for (auto [program, code] : llvm::zip_equal(programs, compiled->front()))
    for (const codegen::cuda::CudaVariant &variant : program.variants)
      for (const codegen::cuda::KernelResources &found : code.kernels)
        if (found.symbol == variant.symbol)
          llvm::outs() << found.symbol << ": " << found.registers << " registers, "
                       << found.spillStores + found.spillLoads << " bytes spilled, "
                       << found.sharedBytes << " + " << variant.sharedBytes << " bytes shared\n";
  return 0;
}

int main(int count, char **arguments) {
  mlir::MLIRContext context;
  context.loadDialect<kernel::KernelDialect, lm::LmDialect, mlir::arith::ArithDialect,
                      mlir::math::MathDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(count > 1 ? arguments[1] : "-", &context);
  if (!module)
    return 1;
  bool failed = false;
  codegen::cuda::EmitOptions options;
  bool resources = count > 3 && llvm::StringRef(arguments[2]) == "resources";
  options.wgmma = resources ? llvm::StringRef(arguments[3]) == "sm_90a"
                            : count > 2 && llvm::StringRef(arguments[2]) == "wgmma";
  std::vector<codegen::cuda::CudaProgram> programs;
  for (auto kernel : module->getOps<kernel::FuncOp>()) {
    kernel.addWorkspace(codegen::cuda::kernelShape(kernel).workspaceBytes);
    auto program = codegen::cuda::emitKernel(kernel, options);
    if (mlir::failed(program)) {
      failed = true;
      continue;
    }
    programs.push_back(*program);
    if (resources)
      continue;
    llvm::outs() << program->source;
    for (const codegen::cuda::CudaVariant &variant : program->variants) {
      llvm::outs() << "// " << variant.symbol << ": grid ";
      print(variant.grid[0]);
      llvm::outs() << ", ";
      print(variant.grid[1]);
      llvm::outs() << "; " << variant.threads << " threads, " << variant.sharedBytes << " bytes";
      if (variant.cluster > 1)
        llvm::outs() << ", clusters of " << variant.cluster;
      for (const codegen::cuda::TensorMapOf &map : variant.tensorMaps)
        llvm::outs() << ", boxes of " << map.boxRows << " rows of operand " << map.operand
                     << (map.unitRows > 1 ? ", " + std::to_string(map.unitRows) + " a token" : "");
      if (variant.maxCount != codegen::cuda::kUnlimited)
        llvm::outs() << ", at most " << variant.maxCount;
      if (variant.maxTileTokens != codegen::cuda::kUnlimited)
        llvm::outs() << ", tiles of " << variant.maxTileTokens;
      llvm::outs() << "\n";
    }
    llvm::outs() << "\n";
  }
  if (resources && !failed)
    return printResources(programs, arguments[3]);
  return failed;
}
