//===- GpuCode.h - Kernels of a GPU program into an engine -----------------===//
#pragma once

#include "compiler/engine/CodeCache.h"
#include "compiler/engine/EngineWriter.h"
#include "dialects/kernel/KernelDialect.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace ingot::compiler {

/// What was added.
struct GpuCode {
  uint64_t bytes = 0;   ///< of all code
  size_t programs = 0;  ///< of one target: the kernels, and the choice of greedy ids
};

/// Adds a code object and its segment for each target ("cuda:sm_90a", "cuda:compute_80", "cuda-emulator:sm_90a") to the
/// program `table`, whose kernels these are, and the section that finds the greedy ids of logits rows. Errors: E0460 a kernel cannot be printed (our bug),
/// E0461 NVRTC is not there or refuses, E0462 the host compiler is not there or refuses. `cache` may be null; it holds the
/// kernels one by one, so that another model finds those it shares.
Result<GpuCode> addGpuCode(llvm::ArrayRef<kernel::FuncOp> kernels, int64_t vocabulary, llvm::ArrayRef<std::string> targets,
                           int threads, CodeCache *cache, fb::EngineT &table, std::vector<SegmentSource> &segments);

/// `--emit cuda`: the kernels as CUDA C++, one after the other. E0460.
Result<std::string> printCuda(llvm::ArrayRef<kernel::FuncOp> kernels);

} // namespace ingot::compiler
