//===- CudaKernels.cpp - See CudaKernels.h --------------------------------===//
#include "CudaKernels.h"
#include "dialects/kernel/ops/Structure.h"

using namespace ingot;
using namespace ingot::codegen::cuda;

std::vector<CudaProgram> codegen::cuda::test::emitAll(const std::string &text,
                                                      const EmitOptions &options) {
  KernelModule module(text);
  std::vector<CudaProgram> programs;
  for (kernel::FuncOp kernel : module.kernels()) {
    kernel.addWorkspace(kernelShape(kernel).workspaceBytes);
    auto program = emitKernel(kernel, options);
    EXPECT_TRUE(succeeded(program)) << text;
    if (succeeded(program))
      programs.push_back(std::move(*program));
  }
  return programs;
}

mlir::FailureOr<CudaProgram> codegen::cuda::test::emitFirst(const KernelModule &module) {
  return emitKernel(module.kernels()[0]);
}

std::map<std::string, int64_t> codegen::cuda::test::workspacesOf(const std::string &text) {
  KernelModule module(text);
  std::map<std::string, int64_t> bytes;
  for (kernel::FuncOp kernel : module.kernels())
    if (int64_t needed = kernelShape(kernel).workspaceBytes)
      bytes[kernel.getName().str()] = needed;
  return bytes;
}
