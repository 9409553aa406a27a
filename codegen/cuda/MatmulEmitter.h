//===- MatmulEmitter.h - What prints a projection's kernels ----------------===//
//
// One class in five files, since a variant asks all of them:
//
//   Matmul.cpp           segments of weight rows, variants, where blocks find their tile
//   MatmulLoops.cpp      what each main loop takes: threads, tiles, shared memory
//   MatmulEpilogue.cpp   the call of a main loop, and what becomes of its sums
//   MatmulAppend.cpp     the same of q, k and v that are rotated and go into the pool
//   MatmulExperts.cpp    variants for rows that have experts
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/Emitters.h"
#include "codegen/cuda/MatmulPrologue.h"

namespace ingot::cuda {

/// A family of main loops: matmul_f32 (of few tokens, and of many), matmul_decode (Few: of rows that
/// the block computes), matmul_prefill, matmul_wgmma, matmul_wgmma_fp8.
enum class Loop { F32Few, F32Many, Few, Decode, Prefill, Wgmma, WgmmaFp8 };

/// Tokens whose blocks of 32 rows of a router fill half of a GPU: fewer go to blocks of 8 rows.
constexpr int64_t kMostF32Few = 128;
constexpr int64_t kLeastWgmmaTokens = 128;
constexpr int64_t kWgmmaCluster = 2; ///< blocks; as in matmul_wgmma.cuh

/// Rows that a rotation takes together: device/append.cuh.
enum class Pairs { None, Neighbours, Halves };

struct Segment {
  llvm::SmallVector<mlir::Value, 2> weights;
  llvm::SmallVector<mlir::Value> aux;
  mlir::Value y;         ///< null: it goes into the pool
  kernel::RowsType type; ///< of y, or as if there were one
  WeightFormat format;
  Pairs pairs = Pairs::None; ///< where the kernel rotates
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
  /// `tokens` of a block; it is used for steps of up to `maxCount`.
  void emitVariant(llvm::StringRef suffix, Loop loop, int64_t tokens, int64_t maxCount);
  bool isPadded(const Segment &segment) const;
  /// Rows end in zeros: the block of a segment's last tile writes them.
  /// With `appends` only those of q are written.
  void emitPadding(llvm::ArrayRef<int64_t> starts, int64_t tokens, bool appends = false);
  // MatmulLoops.cpp
  /// A block's tokens: what group sums leave of the registers. Blocks of a cluster share x.
  int64_t wgmmaTokens() const;
  int64_t threadsOf(Loop loop);
  /// Rows of a weight in a tile of the loop, and tiles of a block.
  static int64_t rowsOfTile(Loop loop);
  int64_t tilesOfBlock(Loop loop) const;
  static int64_t tilesOf(const Segment &segment, Loop loop);
  /// Of a decode block's sums; one that appends halves has two weights.
  int64_t partialBytes(int64_t tokens, bool appends) const;
  /// Bytes of dynamic shared memory. What the device's own text says of its layout, sharedText(),
  /// is held against it in every kernel.
  int64_t sharedBytesOf(Loop loop, int64_t tokens, bool appends);
  std::string sharedText(Loop loop, int64_t tokens, bool appends);
  /// That fit a processor; 0: no matter. What two weights of super-blocks unpack at once would take
  /// every register that one block leaves; with those that three leave nothing is spilled. Of f32
  /// two hide each other's latencies.
  uint32_t leastBlocks(Loop loop, int64_t tokens) const;
  // MatmulEpilogue.cpp
  /// What the epilogue takes from the i-th aux operand of a segment.
  std::string auxText(const Segment &segment, size_t i, const std::string &row = "row");
  /// `store_0(y, token, row, sums, aux…)`: aux elements, the region, the store. It returns the
  /// value where keys are made of it.
  mlir::LogicalResult emitEpilogue(size_t s, Segment &segment);
  /// "segment == 0 ? a : segment == 1 ? b : c" over the segments of `among`.
  std::string choose(llvm::ArrayRef<size_t> among, llvm::function_ref<std::string(size_t)> value);
  void emitGroup(llvm::ArrayRef<size_t> group, Loop loop, int64_t tokens, bool folds);
  /// Most aux elements that a result of these segments takes; 1 for none, as arrays want.
  size_t heldOf(llvm::ArrayRef<size_t> group) const;
  const char *count();
  // MatmulAppend.cpp
  /// What device/append.cuh wants to know of q, k and v.
  void emitHeads();
  /// The group's main loop, and what rope_append would do with its sums.
  void emitAppendGroup(llvm::ArrayRef<size_t> group, Loop loop, int64_t tokens);
  int64_t rotary() { return append.getTable() ? append.getTable().getType().getN() : 0; }
  int64_t headDim() { return append.getKv().getType().getHeadDim(); }
  // MatmulExperts.cpp
  /// The counts of tokens at which each begins to be too much follow from how many rows an expert has on average.
  void emitExpertVariants();
  /// `tokens` rows of one expert at a time.
  CudaVariant &emitExperts(llvm::StringRef suffix, Loop loop, int64_t tokens);
  /// What stands in it where warpgroups bring and multiply: those loops go over the block's tiles themselves. `blocks`:
  /// along the matrix.
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

} // namespace ingot::cuda
