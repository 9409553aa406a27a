//===- MakeReference.cpp - Writes the naive kernels of an engine to a file ----===//
//
//   ingot compile MODEL --target cuda:sm_90a … --emit plan | make-reference --target cuda:sm_90a -o FILE
//
// Use the target and the options with which the engine was compiled. `cuda-emulator:sm_90a` makes
// host code. check-kernels checks the engine's kernels against these.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Structure.h"
#include "dialects/plan/PlanDialect.h"
#include "tests/codegen/TestCode.h"
#include "tests/gpu/ReferenceText.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <fstream>
#include <thread>

using namespace ingot;

int main(int count, char **arguments) {
  llvm::cl::opt<std::string> plan(llvm::cl::Positional, llvm::cl::init("-"),
                                  llvm::cl::desc("PLAN"));
  llvm::cl::opt<std::string> output("o", llvm::cl::Required);
  llvm::cl::opt<std::string> target("target", llvm::cl::init("cuda:sm_90a"));
  llvm::cl::ParseCommandLineOptions(count, arguments, "naive kernels beside an engine's\n");

  mlir::MLIRContext context;
  context.loadDialect<kernel::KernelDialect, lm::LmDialect, plan::PlanDialect,
                      mlir::arith::ArithDialect, mlir::math::MathDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(plan, &context);
  if (!module)
    return 1;
  reference::ReferencesT file;
  file.target = target;
  std::vector<codegen::cuda::CudaProgram> programs;
  for (auto kernel : module->getOps<kernel::FuncOp>()) {
    codegen::cuda::CudaProgram program;
    auto made = codegen::cuda::referenceOf(kernel, program);
    if (mlir::failed(made))
      return 1;
    if (!*made)
      continue;
    programs.push_back(std::move(program));
    file.kernels.push_back(std::move(*made));
  }
  auto [kind, architecture] = llvm::StringRef(target).split(':');
  const unsigned threads = std::thread::hardware_concurrency();
  std::string problem;
  if (kind == "cuda") {
    auto compiled = codegen::cuda::compilePrograms(programs, {architecture.str()}, threads, problem,
                                                   ingot::test::testCode());
    if (mlir::succeeded(compiled))
      for (auto [kernel, code] : llvm::zip_equal(file.kernels, compiled->front()))
        kernel->module_.assign(code.code.begin(), code.code.end());
  } else {
    for (auto [kernel, program] : llvm::zip_equal(file.kernels, programs)) {
      auto object = codegen::cuda::compileForEmulator(
          {program}, {architecture.str(), false, 1, ingot::test::testCode()}, problem);
      if (mlir::failed(object))
        break;
      kernel->module_.assign(object->begin(), object->end());
    }
  }
  if (!problem.empty()) {
    llvm::errs() << problem << "\n";
    return 1;
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(reference::References::Pack(builder, &file), reference::ReferencesIdentifier());
  std::ofstream stream(output, std::ios::binary);
  stream.write(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  return stream.good() ? 0 : 1;
}
