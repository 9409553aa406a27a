//===- KernelLaunch.cpp - What launches say of themselves -----------------===//
//
// LaunchInterface, op by op. An op without a line here walks tokens, one work item each, and moves bytes rather than
// compute.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/KernelDialect.h"
#include "runtime/abi/KernelAbi.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;
using lm::WeightType;

static WorkItems unitsOf(Extent extent) {
  return {extent == Extent::Rows ? WorkItems::Rows : WorkItems::Tokens, 1, false};
}

//===----------------------------------------------------------------------===//
// Projections
//===----------------------------------------------------------------------===//

WorkItems MatmulOp::workItems() {
  int64_t panels = 0;
  for (int64_t s = 0; s < segments(); ++s)
    panels += (segmentRows(s) + kPanelRows - 1) / kPanelRows;
  return {WorkItems::Constant, panels, false};
}
bool MatmulOp::isPerRow() { return getExtent() == Extent::Rows; }
/// 2 N K over all weights; of both planes of q8x2, as steps of one row and sampled ones take them (greedy ones of several
/// leave most of the second out: codegen/cpu/MatmulScreen.h).
int64_t MatmulOp::operationsPerUnit() {
  int64_t operations = 0;
  for (Type type : getWeights().getTypes())
    operations += 2 * cast<WeightType>(type).rows() * cast<WeightType>(type).columns();
  return operations * (xType().getKind() == RowKind::Q8x2 ? 2 : 1);
}

WorkItems Fp8RowsOp::workItems() { return unitsOf(getExtent()); }
bool Fp8RowsOp::isPerRow() { return getExtent() == Extent::Rows; }

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

WorkItems RowwiseOp::workItems() { return unitsOf(getExtent()); }
bool RowwiseOp::isPerRow() { return getExtent() == Extent::Rows; }
/// An operation of the region per element; statistics and exp count as one: such kernels move bytes.
int64_t RowwiseOp::operationsPerUnit() {
  int64_t elements = 0, operations = 0;
  for (Value y : getOutputs())
    elements = std::max(elements, cast<RowsType>(y.getType()).getN());
  getBody().walk([&](Operation *inner) { operations += !isa<YieldOp>(inner); });
  return operations * elements;
}

bool GatherOp::gathersWeights() { return true; }
int64_t GatherOp::operationsPerUnit() { return 2 * getOutput().getType().getN(); }

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

int64_t RopeAppendOp::operationsPerUnit() {
  return getTable() ? 3 * (getQ().getType().getN() + getK().getType().getN()) : 0;
}

WorkItems AttentionOp::workItems() {
  return {WorkItems::Tiles, getKv().getType().getKvHeads(), true};
}
int64_t AttentionOp::operationsPerPosition() { // q k and p v
  return 4 * getHeads() * getKv().getType().getHeadDim();
}
int64_t AttentionOp::bytesPerPosition() { return getKv().getType().pageBytes() / cpu::kPageTokens; }

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

WorkItems CausalConvOp::workItems() {
  return {WorkItems::Spans, (getX().getType().getN() + kConvChannels - 1) / kConvChannels, false};
}
int64_t CausalConvOp::operationsPerUnit() {
  return 2 * (historyRows() + 1) * getX().getType().getN();
}

//===----------------------------------------------------------------------===//
// Ids
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kSample = "sample";

StringRef ArgmaxOp::family() { return kSample; }
WorkItems ArgmaxOp::workItems() { return unitsOf(Extent::Rows); }
bool ArgmaxOp::isPerRow() { return true; }

StringRef ArgmaxFinishOp::family() { return kSample; }
WorkItems ArgmaxFinishOp::workItems() { return unitsOf(Extent::Rows); }
bool ArgmaxFinishOp::isPerRow() { return true; }

StringRef DrawWeighOp::family() { return kSample; }
WorkItems DrawWeighOp::workItems() { return unitsOf(Extent::Rows); }
bool DrawWeighOp::isPerRow() { return true; }

StringRef DrawIdsOp::family() { return kSample; }
WorkItems DrawIdsOp::workItems() { return unitsOf(Extent::Rows); }
bool DrawIdsOp::isPerRow() { return true; }
