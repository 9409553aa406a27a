//===- MatmulEmitter.h - Emits the kernels of a projection -----------------===//
//
// One class in five files, since every variant needs all of them:
//
//   Matmul.cpp           segments of weight rows, variants, where blocks find their tile
//   MatmulLoops.cpp      resources of each main loop: threads, tiles, shared memory
//   MatmulEpilogue.cpp   the call of a main loop, and the epilogue on its sums
//   MatmulAppend.cpp     the same for q, k and v that are rotated and appended to the KV pool
//   MatmulExperts.cpp    variants for rows that have experts
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/Emitters.h"
#include "codegen/cuda/MatmulPrologue.h"

namespace ingot::codegen::cuda {

/// A family of main loops: matmul_f32 (for few tokens, and for many), matmul_decode (Few: on rows that
/// the block computes), matmul_prefill, matmul_wgmma, matmul_wgmma_fp8.
enum class Loop { F32Few, F32Many, Few, Decode, Prefill, Wgmma, WgmmaFp8 };

/// Up to this number of tokens a router's blocks have 8 rows. With more tokens, blocks of 32 rows fill at
/// least half of a GPU.
constexpr int64_t kMostF32Few = 128;
constexpr int64_t kLeastWgmmaTokens = 128;
constexpr int64_t kWgmmaCluster = 2; ///< blocks; as in matmul_wgmma.cuh

/// Which rows a rotation pairs (device/append.cuh).
enum class Pairs { None, Neighbours, Halves };

struct Segment {
  llvm::SmallVector<mlir::Value, 2> weights;
  llvm::SmallVector<mlir::Value> aux;
  mlir::Value y;               ///< null: the segment goes into the KV pool
  kernel::ActivationType type; ///< the type that y has or would have
  WeightFormat format;
  Pairs pairs = Pairs::None; ///< set if the kernel rotates the segment
};

class MatmulEmitter {
public:
  MatmulEmitter(KernelText &k, kernel::MatmulOp op, const EmitOptions &options)
      : k(k), op(op), options(options), shape(op), producer(shape.producer), argmax(shape.argmax),
        append(shape.append) {}

  mlir::LogicalResult emit();

private:
  // Matmul.cpp
  void collectSegments();
  /// Emits a variant with blocks of `tokens` tokens, for steps of up to `maxCount`.
  void emitVariant(llvm::StringRef suffix, Loop loop, int64_t tokens, int64_t maxCount);
  bool isPadded(const Segment &segment) const;
  /// Emits the zeros that pad each row: the block of a segment's last tile writes them. With
  /// `appends` only q is padded.
  void emitPadding(llvm::ArrayRef<int64_t> starts, int64_t tokens, bool appends = false);
  // MatmulLoops.cpp
  /// Tokens per block, limited by the registers that the group sums leave. Blocks of a cluster share
  /// x.
  int64_t wgmmaTokens() const;
  int64_t threadsOf(Loop loop);
  /// Weight rows per tile of the loop, and tiles per block.
  static int64_t rowsOfTile(Loop loop);
  int64_t tilesOfBlock(Loop loop) const;
  static int64_t tilesOf(const Segment &segment, Loop loop);
  /// Returns the size in bytes of a decode block's sums. A block that appends half-split pairs owns two tiles, so it
  /// has as many sums as for two weights.
  int64_t partialBytes(int64_t tokens, bool appends) const;
  /// Returns the size in bytes of dynamic shared memory. Every kernel asserts that it equals sharedText(), the size
  /// that the device code computes from its own layout.
  int64_t sharedBytesOf(Loop loop, int64_t tokens, bool appends);
  std::string sharedText(Loop loop, int64_t tokens, bool appends);
  /// Returns the number of blocks that must fit on a multiprocessor; 0: no minimum. A higher number makes ptxas
  /// use fewer registers. For a pair of weights in super-blocks the number is 3: with 1, the code that
  /// unpacks both weights at once would use every register that a block may have, and with 3 nothing
  /// spills. For f32 it is 2, since two blocks hide each other's latencies.
  uint32_t leastBlocks(Loop loop, int64_t tokens) const;
  // MatmulEpilogue.cpp
  /// The text of the element that the epilogue takes from the i-th aux operand of a segment.
  std::string auxText(const Segment &segment, size_t i, const std::string &row = "row");
  /// Emits `store_0(y, token, row, sums, aux…)`, which evaluates the region and stores the result. It
  /// returns the value if argmax keys are made of it.
  mlir::LogicalResult emitEpilogue(size_t s, Segment &segment);
  /// Returns "segment == 0 ? a : segment == 1 ? b : c" over the segments of `among`.
  std::string choose(llvm::ArrayRef<size_t> among, llvm::function_ref<std::string(size_t)> value);
  void emitGroup(llvm::ArrayRef<size_t> group, Loop loop, int64_t tokens, bool folds);
  /// Returns the largest number of aux elements that a result of these segments takes, at least 1 since it is
  /// an array's size.
  size_t heldOf(llvm::ArrayRef<size_t> group) const;
  const char *count();
  // MatmulAppend.cpp
  /// Emits the description of q, k and v that device/append.cuh takes.
  void emitHeads();
  /// Emits the group's main loop, with an epilogue that does the work of rope_append.
  void emitAppendGroup(llvm::ArrayRef<size_t> group, Loop loop, int64_t tokens);
  int64_t rotary() { return append.getTable() ? append.getTable().getType().getN() : 0; }
  int64_t headDim() { return append.getKv().getType().getHeadDim(); }
  // MatmulExperts.cpp
  /// Emits the variants. The token counts up to which each is used follow from the average number of
  /// rows per expert.
  void emitExpertVariants();
  /// Emits a variant that takes `tokens` rows of one expert at a time.
  CudaVariant &emitExperts(llvm::StringRef suffix, Loop loop, int64_t tokens);
  /// Emits the body of such a variant for the wgmma loops, which iterate over the block's tiles
  /// themselves. `blocks` is the number of blocks along the matrix.
  void emitExpertsByWarpgroups(Loop loop, int64_t tokens, int64_t blocks);

  LaunchExtent::Base base() {
    return op.getExtent() == kernel::Extent::Rows ? LaunchExtent::Rows : LaunchExtent::Tokens;
  }

  KernelText &k;
  kernel::MatmulOp op;
  const EmitOptions &options;
  MatmulShape shape;
  kernel::RowwiseOp producer;
  kernel::ArgmaxOp argmax;
  kernel::RopeAppendOp append;
  llvm::SmallVector<Segment> segments;
  MatmulPrologue prologue;
};

} // namespace ingot::codegen::cuda
