//===- KernelRunner.cpp - See KernelRunner.h ------------------------------===//
#include "KernelRunner.h"
#include "codegen/CompilerIdentity.h"
#include "dialects/kernel/ops/Structure.h"

#include "tests/codegen/TestCode.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::codegen::cpu;
using codegen::cpu::test::LoadedKernels;

LoadedKernels::LoadedKernels(const KernelModule &module, const Isa &isa, CodegenOptions options) {
  // The program that runs has the generators in it, so its build id identifies them.
  static const std::string generator = compiler::compilerIdentity();
  if (!options.cache)
    options.cache = ingot::test::testCode(generator);
  auto image = compileKernels(module.kernels(), isa, options);
  EXPECT_TRUE(succeeded(image));
  if (failed(image))
    return;
  bytes = std::move(*image);
  int fd = memfd_create("kernels", MFD_CLOEXEC); // stays open: dlopen compares names
  EXPECT_EQ(write(fd, bytes.data(), bytes.size()), ssize_t(bytes.size()));
  handle = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(handle) << dlerror();
  scratch = static_cast<size_t>(test::scratchBytes(module));
}

int64_t codegen::cpu::test::scratchBytes(const KernelModule &module) {
  int64_t most = 0;
  for (kernel::FuncOp kernel : module.kernels())
    most = std::max(most, codegen::cpu::scratchBytes(kernel));
  return most;
}

mlir::FailureOr<std::string> codegen::cpu::test::printKernel(const KernelModule &module,
                                                             const Isa &isa, CodeText text) {
  return codegen::cpu::printKernel(module.kernels().front(), isa, text);
}
