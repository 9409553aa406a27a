//===- KernelRunner.h - Compiles kernels from text and calls them ---------===//
//
// What the tests of the CPU generators share: kernel IR in, a function in memory out, and
// buffers aligned as the ABI wants them.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/CpuCodegen.h"
#include "runtime/abi/KernelAbi.h"

#include "KernelModule.h"

#include <dlfcn.h>
#include <functional>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace ingot::cpu::test {

inline bool hostRuns(const Isa &isa) {
  if (&isa == &kAvx2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("avx512bf16");
}

/// The levels that this machine can run: a test of numbers goes over these.
inline std::vector<const Isa *> hostIsas() {
  std::vector<const Isa *> isas;
  for (const Isa *isa : {&kAvx2, &kAvx512})
    if (hostRuns(*isa))
      isas.push_back(isa);
  return isas;
}

using ingot::test::Buffer;
using ingot::test::KernelModule;

/// A compiled shared object, loaded for good (tests are short).
class LoadedKernels {
public:
  LoadedKernels(const KernelModule &module, const Isa &isa, CodegenOptions options = {}) {
    auto image = compileKernels(module.kernels, isa, options);
    EXPECT_TRUE(succeeded(image));
    if (failed(image))
      return;
    bytes = std::move(*image);
    int fd = memfd_create("kernels", MFD_CLOEXEC); // stays open: dlopen compares names
    EXPECT_EQ(write(fd, bytes.data(), bytes.size()), ssize_t(bytes.size()));
    handle = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(handle) << dlerror();
    for (kernel::FuncOp kernel : module.kernels)
      scratch = std::max<size_t>(scratch, scratchBytes(kernel));
  }
  explicit operator bool() const { return handle != nullptr; }
  KernelFn operator[](const char *name) const {
    return reinterpret_cast<KernelFn>(dlsym(handle, name));
  }

  /// Calls items begin, begin+step, … < end of a kernel, with scratch of just the size stated.
  void call(const char *name, std::vector<void *> args, const BatchView &batch, int64_t begin,
            int64_t end, int64_t step = 1) const {
    KernelFn fn = (*this)[name];
    ASSERT_TRUE(fn) << name;
    Buffer<char> memory(scratch);
    fn(args.data(), &batch, begin, end, step, memory.data());
    EXPECT_TRUE(memory.intact()) << name << " wrote behind its scratch";
  }

  std::vector<char> bytes;

private:
  void *handle = nullptr;
  size_t scratch = 0;
};

} // namespace ingot::cpu::test
