//===- MatmulSchedule.cpp - See MatmulSchedule.h --------------------------===//
#include "codegen/schedule/MatmulSchedule.h"

#include <algorithm>

using namespace mlir;
using namespace ingot;
using namespace ingot::cpu;

/// Activations of a block of tokens stay in the second-level cache beside the panel.
static constexpr int64_t kTokenBlockBytes = 384 << 10;
static constexpr int64_t kMostTokens = 120; // a multiple of all tiles
static constexpr int64_t kPrefetchBytes = 4096;

int ingot::cpu::tileVectors(const Isa &isa, int64_t tokens) {
  if (isa.registers == 32)
    return kPanelRows / isa.lanes;
  // Four accumulators and their four partial sums fill most of sixteen registers.
  return tokens >= 3 ? 1 : tokens == 2 ? 2 : 4;
}

/// Q6_K multiplies its two half-group sums by their scales: one more register per accumulator.
static bool needsProducts(kernel::MatmulOp op) {
  return op.getX().getType().getKind() != kernel::RowKind::F32 &&
         llvm::any_of(op.getWeights().getTypes(),
                      [](Type type) { return cast<lm::WeightType>(type).numeric().group == 16; });
}

/// De-quantising in f32 unrolls to long code: fewer tiles, and compiling takes half the time.
static bool isExact(kernel::MatmulOp op) {
  return op.getX().getType().getKind() == kernel::RowKind::F32 &&
         llvm::any_of(op.getWeights().getTypes(), [](Type type) {
           return cast<lm::WeightType>(type).numeric().hasIntegerCodes();
         });
}

static SmallVector<int64_t> tokenTiles(kernel::MatmulOp op, const Isa &isa) {
  bool wide = isa.registers == 32, products = needsProducts(op), exact = isExact(op);
  if (exact)
    return wide ? SmallVector<int64_t>{4, 1} : SmallVector<int64_t>{2, 1};
  if (wide)
    return products ? SmallVector<int64_t>{4, 2, 1} : SmallVector<int64_t>{6, 4, 2, 1};
  return products ? SmallVector<int64_t>{3, 1} : SmallVector<int64_t>{4, 2, 1};
}

kernel::ScheduleAttr ingot::cpu::matmulSchedule(kernel::MatmulOp op, const Isa &isa) {
  MLIRContext *context = op.getContext();
  if (kernel::ScheduleAttr given = op.getScheduleAttr()) {
    SmallVector<int64_t> tiles(given.getTokenTiles());
    if (tiles.empty() || tiles.back() != 1)
      tiles.push_back(1);
    return kernel::ScheduleAttr::get(context, tiles, std::max<int64_t>(given.getTokenBlock(), 1),
                                     given.getPrefetch());
  }
  SmallVector<int64_t> tiles = tokenTiles(op, isa);
  int64_t block = std::min(kMostTokens, kTokenBlockBytes / op.getX().getType().rowBytes());
  block = std::max<int64_t>(block / tiles.front() * tiles.front(), tiles.front());
  return kernel::ScheduleAttr::get(context, tiles, block, kPrefetchBytes);
}
