//===- GpuCode.h - Adds the kernels of a GPU program to an engine ----------===//
#pragma once

#include "codegen/ObjectCache.h"
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

/// Returns whether code for that target has wgmma variants, which may give other bits than mma.sync.
bool usesWgmma(llvm::StringRef target, bool batchInvariant);

struct GpuCodeOptions {
  llvm::ArrayRef<std::string> targets;
  bool batchInvariant = false; ///< excludes variants that may give other bits than the rest
  int threads = 1;
  ObjectCache *cache = nullptr; ///< cache with an object for each program; may be null
};

/// Summary of the added code.
struct GpuCode {
  uint64_t bytes = 0;  ///< size of all code
  size_t programs = 0; ///< number per target: of programs for kernels and for generating weights
  /// The code of emulator targets.
  std::map<std::string, std::string> emulated;
};

/// Adds a code object and its segment for each target ("cuda:sm_90a", "cuda:compute_80", "cuda-emulator:sm_90a") to the
/// program `table`, to which `kernels` belong. Errors: E0460: a kernel cannot be printed (a bug of the compiler);
/// E0461: NVRTC is missing or fails; E0462: the host compiler is missing or fails.
Result<GpuCode> addGpuCode(llvm::ArrayRef<kernel::FuncOp> kernels, const GpuCodeOptions &options,
                           fb::ProgramT &table, std::vector<SegmentSource> &segments);

/// Compiles the code of a GPU target, such as "cuda:sm_90a", as host code for the emulator. Errors: E0460, E0462.
Result<std::string> codeForEmulator(llvm::ArrayRef<kernel::FuncOp> kernels,
                                    const std::string &target, const GpuCodeOptions &options);

/// Implements `--emit cuda`: returns the kernels as CUDA C++ for the first target, in order. Errors: E0460.
Result<std::string> printCuda(llvm::ArrayRef<kernel::FuncOp> kernels,
                              llvm::ArrayRef<std::string> targets, bool batchInvariant);

/// Implements `--emit asm`: returns the SASS of the kernels for the first target, or PTX if the target is PTX. Errors:
/// E0460, E0461; E0494 if there is no disassembler, or the target is the emulator.
Result<std::string> printSass(llvm::ArrayRef<kernel::FuncOp> kernels,
                              const GpuCodeOptions &options);

/// Disassembles the functions of each cubin of a code object, in the order of its modules. The error gives the reason
/// why the text is not available.
llvm::Expected<std::vector<std::string>> sassOfModules(llvm::StringRef object);

} // namespace ingot::compiler
