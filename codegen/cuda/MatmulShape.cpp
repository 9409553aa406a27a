//===- MatmulShape.cpp - See MatmulShape.h ---------------------------------===//
#include "codegen/cuda/MatmulShape.h"
#include "codegen/cuda/CudaCodegen.h"
#include "runtime/formats/FragmentLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;
using kernel::RowKind;

MatmulShape::MatmulShape(kernel::MatmulOp op) {
  weights = op.getGated() ? 2 : 1;
  k = op.xType().getN();
  f32 = op.xType().getKind() == RowKind::F32;
  int64_t tiles = 0;
  for (int64_t s = 0; s < op.segments(); ++s)
    tiles += llvm::divideCeil(op.segmentRows(s), kFragmentRows) * op.rowsOfToken();
  // About 16 warps on each of 132 multiprocessors hide the memory latency.
  parts = f32 || (tiles < 512 && k >= 2048) ? 8 : 4;
  bool minimums = false;
  int64_t group = 256; // the smallest group of any weight
  for (Type type : op.getWeights().getTypes()) {
    const NumericFormat &format = cast<lm::WeightType>(type).numeric();
    minimums |= format.hasMin;
    group = format.isFloat() ? group : std::min<int64_t>(group, format.group);
  }
  // Registers limit both counts. Gated pairs keep two sums per thread, formats with minimums
  // also keep Σx, and small groups have many scales.
  mostDecodeTokens = weights == 2 || minimums ? 32 : 64;
  prefillEights = minimums || group < 32 ? 4 : group < 64 ? 6 : 8;

  refused = collect(op);
  // These fusions exist in decode variants only: for few tokens a separate launch costs more than it
  // saves.
  mostUnits = append ? 8 : argmax ? 32 : kUnlimited;
  if (producer)
    mostUnits = std::min(mostUnits, mostProduced(op));
}

/// f32 activations are supported only for routers: projections of float weights without fused ops.
/// Returns why `op` is not one; empty if it is.
static std::string refusalOfF32(kernel::MatmulOp op) {
  for (Type type : op.getWeights().getTypes())
    if (!cast<lm::WeightType>(type).numeric().isFloat())
      return "expects float weights with f32 rows on GPUs, got " +
             llvm::formatv("'{0}'", type).str();
  if (op.getGated() || op.getRoutes() || op.getX().getDefiningOp() || !op.getFused().empty())
    return "expects f32 rows in memory, single weights and results in memory on GPUs";
  return "";
}

/// Collects the ops fused with `op`. Returns the reason if there is no code for them, else "".
std::string MatmulShape::collect(kernel::MatmulOp op) {
  if (f32)
    return refusalOfF32(op);
  if (op.xType().getKind() != RowKind::BF16)
    return "expects rows of bf16 or f32 on GPUs, got " + llvm::formatv("'{0}'", op.xType()).str();
  Operation *definingOp = op.getX().getDefiningOp();
  producer = dyn_cast_or_null<kernel::RowwiseOp>(definingOp);
  if (op.getRoutes() && definingOp)
    return "expects rows of experts in memory, on GPUs";
  if (definingOp && !producer)
    return "has a producer that is not supported on GPUs: " +
           definingOp->getName().getStringRef().str();
  for (Value fusedValue : op.getFused())
    for (Operation *user : fusedValue.getUsers()) {
      if (!isa<kernel::StoreOp, kernel::ArgmaxOp, kernel::RopeAppendOp>(user))
        return "has a consumer that is not supported on GPUs: " +
               user->getName().getStringRef().str();
      argmax = argmax ? argmax : dyn_cast<kernel::ArgmaxOp>(user);
      append = append ? append : dyn_cast<kernel::RopeAppendOp>(user);
    }
  if (op.getFused().empty())
    return "";
  if (op.getGated() || op.segments() != (append ? 3 : 1))
    return "has results that are not written, which on GPUs must be of one segment, or q, k and v";
  if (!storedAt(op, 0))
    return append ? "rotates queries that are not stored"
                  : "expects logits together with their keys on GPUs";
  if (!append)
    return "";
  if (argmax || append.getQ() != op.getFused()[0] || append.getK() != op.getFused()[1] ||
      append.getV() != op.getFused()[2])
    return "appends results other than q, k and v in this order";
  if (append.getKv().getType().getFormat() != KvFormat::BF16)
    return "appends to a cache that is not of bf16";
  if (append.getTable() &&
      !kernel::canRotate(append.getKv().getType(), append.getTable().getType(), append.getStyle()))
    return "has no block with both rows of a pair: half a head must be whole tiles of 16 rows";
  return "";
}

Value MatmulShape::storedAt(kernel::MatmulOp op, int64_t segment) const {
  Value values = op.getFused()[segment];
  if (append)
    values = segment == 0 ? Value(kernel::RopeAppendOp(append).getRotated()) : Value();
  kernel::StoreOp store = values ? kernel::consumerOf<kernel::StoreOp>(values) : kernel::StoreOp();
  return store ? store.getOutput() : Value();
}

/// Returns the number of tokens, 1, 2, 4 or 8, up to which blocks compute x themselves. Each block then
/// reads the producer's inputs from L2. These may be at most half as many bytes as the block reads of its
/// weight. The rows must take little shared memory, since several blocks share a multiprocessor.
int64_t MatmulShape::mostProduced(kernel::MatmulOp op) const {
  constexpr int64_t kMostTokens = 8; // columns of one mma
  constexpr int64_t kMostShared = 16 * 1024;
  int64_t weightBytes = INT64_MAX;
  for (Type type : op.getWeights().getTypes()) {
    const FragmentLayout layout = kernel::fragmentLayoutOf(cast<lm::WeightType>(type));
    weightBytes = std::min(weightBytes, weights * layout.tileBytes());
  }
  int64_t few = kMostTokens;
  while (few > 1 && (2 * few * k * 4 > weightBytes || few * gpuRowBytes(k) > kMostShared))
    few /= 2;
  return few;
}
