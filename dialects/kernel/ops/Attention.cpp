//===- Attention.cpp - Attention over the KV cache ------------------------===//
#include "dialects/kernel/ops/Attention.h"
#include "runtime/abi/KernelAbi.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Attention.cpp.inc"

LogicalResult AttentionOp::verify() {
  KvPoolType kv = getKv().getType();
  if (getHeads() < 1 || getHeads() % kv.getKvHeads()) // attention_c1
    return emitOpError("expects kv_heads to divide heads");
  int64_t width = getHeads() * kv.getHeadDim();
  if (getQ().getType().getN() != width || getOutput().getType().getN() != width ||
      getQ().getType().getKind() != RowKind::F32) // attention_c2
    return emitOpError("expects f32 queries and an output of heads x head_dim values");
  RowKind output = getOutput().getType().getKind();
  if ((output != RowKind::F32 && output != RowKind::Q8 && output != RowKind::BF16) ||
      (output == RowKind::Q8 && kv.getHeadDim() % kGroupK)) // attention_c3
    return emitOpError(
        "expects head_dim to be a multiple of 32 to quantise the output, and the output to be f32, q8 or bf16");
  if (getSinks() &&
      getSinks().getType().getShape() != ArrayRef<int64_t>(getHeads())) // attention_c4
    return emitOpError("expects a sink for each head, got ") << getSinks().getType();
  return success();
}

WorkItems AttentionOp::workItems() {
  return {WorkItems::Tiles, getKv().getType().getKvHeads(), true};
}
int64_t AttentionOp::operationsPerPosition() { // q k and p v
  return 4 * getHeads() * getKv().getType().getHeadDim();
}
int64_t AttentionOp::bytesPerPosition() { return getKv().getType().pageBytes() / kPageTokens; }
Value AttentionOp::workspace() { return getWorkspace(); }
void AttentionOp::takeWorkspace(Value operand) { getWorkspaceMutable().assign(operand); }
