//===- CudaCodegen.h - From kernels to CUDA C++, cubins and host objects -----===//
//
//   kernel.func ──emitKernel──▶ CudaProgram: text + variants ──compileKernels──▶ a cubin per
//   architecture     (NVRTC)
//                                                            └─compileForEmulator──▶ a shared
//                                                            object          (clang)
//
// docs/gpu.md has the ABI: a symbol takes the address of each operand of the kernel.func, in order,
// and last the address of the batch. Programs are
// compiled apart from each other, in parallel; the same kernels give the same bytes.
//===----------------------------------------------------------------------===//
#pragma once

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

namespace ingot::cuda {

/// ceil(base * multiply / divide) of the step's batch; base 1 for Constant. A kernel with a variant over Shares has one over PromptTiles as well, and a step
/// launches both (runtime/abi/Batch.h).
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

/// A tensor map that a variant takes behind the batch: of an operand of bf16 rows, in boxes of
/// `boxRows` rows x 64 values, with the 128-byte swizzle.
struct TensorMapOf {
  uint32_t operand = 0;
  uint32_t boxRows = 0;
  uint64_t rowBytes = 0; ///< from a row to the next
  uint32_t unitRows =
      1; ///< rows of a unit of the plan's buffer: one for each expert that a token meets
};

/// One symbol of a program and when to launch it: the first variant whose guards hold. Guards say
/// where a variant is fast: each is right for every batch (a grid covers it), so that a step may
/// also use a later one.
struct CudaVariant {
  std::string symbol;
  LaunchExtent::Base guardBase = LaunchExtent::Constant; ///< what maxCount bounds (Tokens or Rows)
  int64_t maxCount = kUnlimited;
  int64_t maxTileTokens = kUnlimited; ///< bounds the tokens of the step's largest attention tile
  LaunchExtent grid[2];               ///< x and y
  uint32_t threads = 0;
  uint32_t sharedBytes = 0; ///< dynamic; beyond 48 KB the function's attribute must be raised
  uint32_t cluster = 1;     ///< blocks along x of a cluster; a launch rounds x up to whole ones
  std::vector<TensorMapOf> tensorMaps;
  bool pdl = true; ///< may be launched with programmatic stream serialisation (sm_90 and newer)
};

/// A kernel as text. Without variants: the code that it is part of has no use for what the kernel makes.
struct CudaProgram {
  std::string name;
  std::string source;
  std::vector<CudaVariant> variants;
};

/// Tokens up to which projections do without wgmma: fewer leave half of its 128 empty.
constexpr int64_t kFewTokens = 64;

/// What a program may be made of.
struct EmitOptions {
  /// wgmma for projections of many tokens: for sm_90a alone. Its variants need not give the bits of
  /// the others (docs/gpu.md, Arithmetic).
  bool wgmma = false;
};

/// How a matrix lies that the op reads: as tensor cores take it, or in panels where its rows are f32.
lm::WeightLayout matrixLayout(mlir::Operation *reader);

/// How a GPU runs the kernel, or why not. Whoever has a workspace has other code.
kernel::KernelShape kernelShape(kernel::FuncOp kernel);

/// What attention kernels that work in one program can share out among blocks: AttentionSharing of
/// runtime/device/cuda/AttentionShares.h. Zeros if none of them can.
struct SharedAttention {
  int64_t shares = 0, slots = 0;
};
SharedAttention sharedAttention(llvm::ArrayRef<kernel::FuncOp> kernels);

/// Errors are reported at the kernel.
mlir::FailureOr<CudaProgram> emitKernel(kernel::FuncOp kernel, const EmitOptions &options = {});

/// Bytes of a row of sums between kernel.draw_weigh and kernel.draw_ids (device/draw.cuh).
int64_t drawSumsBytes(int64_t vocabulary);

/// Fills a weight of that format from a seed (device/seed.cuh), not made from IR. One symbol:
/// (u8 *out, u64 seed, u64 tensor, i64 n, i64 k), a block for each tile of the layout, over memory
/// that is zero.
CudaProgram seedProgram(WeightFormat format);

/// Code from earlier compilations, by the texts that decide it: the program's whole source, the
/// headers it may include, options, and which compiler it is. Called from one thread at a time.
class KeptCode {
public:
  virtual ~KeptCode() = default;
  virtual std::optional<std::string> lookup(llvm::ArrayRef<std::string> texts) = 0;
  virtual void store(llvm::ArrayRef<std::string> texts, llvm::StringRef code) = 0;
};

/// Machine code of one program, for one architecture.
struct CompiledProgram {
  std::vector<char> code; ///< a cubin; PTX for an architecture "compute_XX"
  // Of code that was kept nobody says these:
  std::vector<KernelResources> kernels;
  std::string log;
};

/// result[a][p]: program p for architectures[a] ("sm_80" … "sm_120a"; "compute_80": PTX that the
/// driver compiles where no cubin fits). `problem` says what went wrong. What `kept` has is not
/// compiled, and what it lacks is given to it. `underWay` is told by a thread which program it compiles from now on; empty:
/// none.
mlir::FailureOr<std::vector<std::vector<CompiledProgram>>>
compilePrograms(llvm::ArrayRef<CudaProgram> programs, llvm::ArrayRef<std::string> architectures,
                unsigned threads, std::string &problem, KeptCode *kept = nullptr,
                const std::function<void(llvm::StringRef)> &underWay = {});

/// Options of a host build.
struct EmulatorOptions {
  std::string architecture = "sm_90a"; ///< which words the source sees
  bool checked = false;                ///< every access of memory is watched (slow)
  unsigned threads = 1;
  KeptCode *kept = nullptr; ///< of objects, a program each; linking is always done
};
/// One ELF shared object that exports SYMBOL and SYMBOL__launch for every variant; it takes what it
/// calls from libingot-cuda-emulator.so.
mlir::FailureOr<std::vector<char>> compileForEmulator(llvm::ArrayRef<CudaProgram> programs,
                                                      const EmulatorOptions &options,
                                                      std::string &problem);

} // namespace ingot::cuda
