//===- GpuCode.h - Kernels of a GPU program into an engine -----------------===//
#pragma once

#include "compiler/engine/CodeCache.h"
#include "compiler/engine/EngineWriter.h"
#include "dialects/kernel/KernelDialect.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::compiler {

/// Whether code for that target has variants with wgmma, whose bits may differ from mma.sync's.
bool usesWgmma(llvm::StringRef target, bool batchInvariant);

struct GpuCodeOptions {
  llvm::ArrayRef<std::string> targets;
  bool batchInvariant = false; ///< no variant whose bits may differ from another's
  int threads = 1;
  CodeCache *cache =
      nullptr; ///< holds programs one by one, so that another model finds those it shares; may be null
  std::string identity; ///< which build of the compiler asks the cache
};

/// What was added.
struct GpuCode {
  uint64_t bytes = 0;  ///< of all code
  size_t programs = 0; ///< of one target: the kernels, and what makes weights
  /// Of those targets that are the emulator's, their code.
  std::map<std::string, std::string> emulated;
};

/// Adds a code object and its segment for each target ("cuda:sm_90a", "cuda:compute_80", "cuda-emulator:sm_90a") to the
/// program `table`, whose kernels these are. Errors: E0460 a kernel cannot be printed (our bug), E0461 NVRTC is not there or refuses, E0462 the host compiler is not there or refuses.
Result<GpuCode> addGpuCode(llvm::ArrayRef<kernel::FuncOp> kernels, const GpuCodeOptions &options,
                           fb::ProgramT &table, std::vector<SegmentSource> &segments);

/// The code of such a target as the emulator runs it: that of "cuda:sm_90a" compiled for the host. E0460, E0462.
Result<std::string> codeForEmulator(llvm::ArrayRef<kernel::FuncOp> kernels,
                                    const std::string &target, const GpuCodeOptions &options);

/// `--emit cuda`: the kernels as CUDA C++ for the first of the targets, one after the other. E0460.
Result<std::string> printCuda(llvm::ArrayRef<kernel::FuncOp> kernels,
                              llvm::ArrayRef<std::string> targets, bool batchInvariant);

/// `--emit asm`: SASS of the kernels for the first of the targets, PTX for one that is PTX. Errors: E0460, E0461; E0494
/// there is no disassembler, or the target is the emulator.
Result<std::string> printSass(llvm::ArrayRef<kernel::FuncOp> kernels,
                              const GpuCodeOptions &options);

/// The functions of each cubin of a code object, in the order of its modules. The error says why they are not known.
llvm::Expected<std::vector<std::string>> sassOfModules(llvm::StringRef object);

} // namespace ingot::compiler
