//===- KernelRunner.h - Compiles kernels from text and calls them ---------===//
//
// Shared by the tests of the CPU generators: compiles kernel IR to a function in memory and
// provides buffers aligned as the ABI requires.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/CpuCodegen.h"
#include "runtime/abi/KernelAbi.h"

#include "KernelModule.h"

#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace ingot::codegen::cpu::test {

inline bool hostRuns(const Isa &isa) {
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("f16c");
  if (isa.emulated || &isa == &kAvx2)
    return v3;
  if (&isa == &kAvxVnni)
    return v3 && __builtin_cpu_supports("avxvnni");
  // Linux lets a process use AMX only on request (ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA; runtime/engine/Isa.cpp).
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni") &&
         (!isa.bf16Dot || __builtin_cpu_supports("avx512bf16")) &&
         (!isa.vbmi || __builtin_cpu_supports("avx512vbmi")) &&
         (!isa.amx || (__builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16") &&
                       syscall(SYS_arch_prctl, 0x1023L, 18L) == 0));
}

/// Returns the level with the same code, except that instructions missing from x86-64-v3 are
/// emulated in generic IR.
inline Isa emulated(Isa isa) {
  isa.cpu = kAvx2.cpu, isa.features = kAvx2.features;
  isa.emulated = true;
  return isa;
}

/// Returns the levels that numeric tests cover: avx2, and avx512 if this machine has it. With
/// INGOT_OTHER_LEVELS it returns the other levels, emulated in generic IR where this machine cannot run them.
inline std::vector<const Isa *> hostIsas() {
  static const Isa written[] = {emulated(kAvxVnni), emulated(kAvx512Vnni), emulated(kAmx)};
  std::vector<const Isa *> isas;
  if (std::getenv("INGOT_OTHER_LEVELS")) {
    isas.push_back(hostRuns(kAvxVnni) ? &kAvxVnni : &written[0]);
    isas.push_back(hostRuns(kAvx512Vnni) ? &kAvx512Vnni : &written[1]);
    isas.push_back(hostRuns(kAmx) ? &kAmx : &written[2]);
    return isas;
  }
  for (const Isa *isa : {&kAvx2, &kAvx512})
    if (hostRuns(*isa))
      isas.push_back(isa);
  return isas;
}

using ingot::test::Buffer;
using ingot::test::KernelModule;

/// Returns the bytes of scratch memory that suffice for every kernel of the module.
int64_t scratchBytes(const KernelModule &module);
/// Prints the first kernel as text.
mlir::FailureOr<std::string> printKernel(const KernelModule &module, const Isa &isa, CodeText text);

/// A compiled shared object. It is never unloaded (tests are short).
class LoadedKernels {
public:
  LoadedKernels(const KernelModule &module, const Isa &isa, CodegenOptions options = {});
  explicit operator bool() const { return handle != nullptr; }
  KernelFn operator[](const char *name) const {
    return reinterpret_cast<KernelFn>(dlsym(handle, name));
  }

  /// Runs items begin, begin+step, … < end of a kernel with exactly the stated amount of scratch.
  void call(const char *name, std::vector<void *> args, const BatchView &batch, int64_t begin,
            int64_t end, int64_t step = 1, int64_t ahead = 0) const {
    KernelFn fn = (*this)[name];
    ASSERT_TRUE(fn) << name;
    Buffer<char> memory(scratch);
    fn(args.data(), &batch, begin, end, step, memory.data(), ahead);
    EXPECT_TRUE(memory.intact()) << name << " wrote behind its scratch";
  }

  std::vector<char> bytes;

private:
  void *handle = nullptr;
  size_t scratch = 0;
};

} // namespace ingot::codegen::cpu::test
