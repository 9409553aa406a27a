//===- CudaCodegen.h - From kernels to CUDA C++, cubins and host objects -----===//
//
//   kernel.func ──emitKernel──▶ CudaProgram: text + variants
//                                 ├─compilePrograms─────▶ a cubin per architecture    (NVRTC)
//                                 └─compileForEmulator──▶ a shared object             (clang)
//
// docs/gpu-runtime.md defines the ABI: a symbol takes the address of each operand of the kernel.func, in
// order, and last the address of the batch. Programs are compiled separately and in parallel; the
// same kernels give the same bytes.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/ObjectCache.h"
#include "codegen/cuda/Nvrtc.h"
#include "dialects/kernel/KernelDialect.h"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::codegen::cuda {

/// ceil(base * multiply / divide), where base is a count of the step's batch, or 1 for Constant. A
/// kernel with a variant over Shares also has one over PromptTiles, and a step launches both
/// (runtime/abi/Batch.h).
struct LaunchExtent {
  enum Base : uint8_t { Constant, Tokens, Rows, Tiles, Shares, PromptTiles, Spans } base = Constant;
  int64_t multiply = 1, divide = 1;

  int64_t operator()(int64_t tokens, int64_t rows, int64_t tiles, int64_t shares = 0,
                     int64_t promptTiles = 0, int64_t spans = 0) const {
    const int64_t counts[] = {1, tokens, rows, tiles, shares, promptTiles, spans};
    return (counts[base] * multiply + divide - 1) / divide;
  }
  bool operator==(const LaunchExtent &) const = default;
};

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// A tensor map that a variant takes as a parameter after the batch. It covers an operand of bf16
/// rows in boxes of `boxRows` rows x 64 values, with the 128-byte swizzle.
struct TensorMapOf {
  uint32_t operand = 0;
  uint32_t boxRows = 0;
  uint64_t rowBytes = 0; ///< from one row to the next
  /// Rows per unit (token) of the plan's buffer. With experts, a token has one for each expert it uses.
  uint32_t unitRows = 1;
};

/// One symbol of a program and the conditions to launch it. A step launches the first variant for which all guards
/// hold. Guards only matter for speed: every variant is correct for every batch, since its grid covers the batch. A
/// step may therefore also use a later variant.
struct CudaVariant {
  std::string symbol;
  LaunchExtent::Base guardBase =
      LaunchExtent::Constant; ///< the count that maxCount bounds (Tokens or Rows)
  int64_t maxCount = kUnlimited;
  int64_t maxTileTokens = kUnlimited; ///< bounds the tokens of the step's largest attention tile
  LaunchExtent grid[2];               ///< x and y
  uint32_t threads = 0;
  /// Bytes of dynamic shared memory. For more than 48 KB the launcher must raise the function's limit.
  uint32_t sharedBytes = 0;
  /// Blocks of a cluster along x. A launch rounds grid x up to a multiple of this.
  uint32_t cluster = 1;
  std::vector<TensorMapOf> tensorMaps;
  bool pdl = true; ///< may be launched with programmatic stream serialisation (sm_90 and newer)
};

/// A kernel as CUDA C++. It has no variants if no other kernel emitted with the same options uses its result.
struct CudaProgram {
  std::string name;
  std::string source;
  std::vector<CudaVariant> variants;
};

/// Projections of at most this many tokens do not use wgmma. They would leave at least half of its 128
/// columns empty.
constexpr int64_t kFewTokens = 64;

/// Selects the instructions that programs may use.
struct EmitOptions {
  /// Use wgmma for projections of many tokens (sm_90a only). Its variants need not give the same bits
  /// as the others (docs/gpu-numerics.md).
  bool wgmma = false;
};

/// Returns the layout in which the op reads its matrix: tensor-core fragments, or panels if the op's
/// activations are f32.
lm::WeightLayout matrixLayout(mlir::Operation *consumer);

/// Describes how a GPU runs the kernel, or why it cannot. A kernel that is given a workspace gets
/// different code.
kernel::KernelShape kernelShape(kernel::FuncOp kernel);

/// Describes how the attention kernels of one program can be split among blocks: AttentionSplitting of
/// runtime/device/cuda/AttentionSplits.h. Zeros if none of them can be split.
struct SharedAttention {
  int64_t shares = 0, slots = 0;
};
SharedAttention sharedAttention(llvm::ArrayRef<kernel::FuncOp> kernels);

/// Prints the kernel as CUDA C++. Reports errors at the kernel.
mlir::FailureOr<CudaProgram> emitKernel(kernel::FuncOp kernel, const EmitOptions &options = {});

/// Returns the number of bytes per row of the sums that kernel.draw_weigh passes to kernel.draw_ids (device/draw.cuh).
int64_t drawSumsBytes(int64_t vocabulary);

/// Returns the program that fills a weight of `format` from a seed (device/seed.cuh). It does not come
/// from IR. Its only symbol takes (u8 *out, u64 seed, u64 tensor, i64 n, i64 k) and is launched with
/// one block per tile of the layout. The memory at `out` must be zero before the launch.
CudaProgram seedProgram(WeightFormat format);

/// Machine code of one program, for one architecture.
struct CompiledProgram {
  std::vector<char> code;               ///< a cubin; PTX for an architecture "compute_XX"
  std::vector<KernelResources> kernels; ///< for cubins only
  std::string log;                      ///< the compiler's messages
};

/// Compiles every program for every architecture: result[a][p] is program p for architectures[a].
/// An architecture is "sm_80" … "sm_120a", or "compute_80" for PTX, which the driver compiles on GPUs
/// that no cubin fits. On failure `problem` is the error message. Code found in the cache is not
/// compiled, and newly compiled code is stored in it. Each thread calls `underWay` with the name of the
/// program that it starts to compile, and with an empty name when it has finished.
mlir::FailureOr<std::vector<std::vector<CompiledProgram>>>
compilePrograms(llvm::ArrayRef<CudaProgram> programs, llvm::ArrayRef<std::string> architectures,
                unsigned threads, std::string &problem, ObjectCache *cache = nullptr,
                const std::function<void(llvm::StringRef)> &underWay = {});

/// Options of a host build.
struct EmulatorOptions {
  std::string architecture = "sm_90a"; ///< decides which primitives the source sees
  bool checked = false;                ///< check every memory access (slow)
  unsigned threads = 1;
  ObjectCache *cache = nullptr; ///< holds one object per program; linking is never cached
};
/// Returns one ELF shared object that exports SYMBOL and SYMBOL__launch for every variant. It imports
/// the emulator's functions from libingot-cuda-emulator.so.
mlir::FailureOr<std::vector<char>> compileForEmulator(llvm::ArrayRef<CudaProgram> programs,
                                                      const EmulatorOptions &options,
                                                      std::string &problem);

} // namespace ingot::codegen::cuda
