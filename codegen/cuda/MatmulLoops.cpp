//===- MatmulLoops.cpp - Resources of a projection's main loops ------------===//
// The loops are in device/matmul_*.cuh. Each kernel asserts that the byte counts computed here equal the byte counts in
// its device code.
//===----------------------------------------------------------------------===//
#include "codegen/cuda/MatmulEmitter.h"
#include "runtime/formats/FragmentLayout.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cuda;

int64_t MatmulEmitter::wgmmaTokens() const {
  return llvm::all_of(segments, [](const Segment &s) { return numericFormat(s.format).isFloat(); })
             ? 256
             : kLeastWgmmaTokens;
}

int64_t MatmulEmitter::threadsOf(Loop loop) {
  return loop >= Loop::Wgmma ? 384 : loop == Loop::Prefill ? 256 : 32 * shape.parts;
}

int64_t MatmulEmitter::rowsOfTile(Loop loop) {
  return loop == Loop::F32Few ? 8 : loop == Loop::F32Many ? kPanelRows : kFragmentRows;
}

int64_t MatmulEmitter::tilesOfBlock(Loop loop) const {
  return loop <= Loop::Decode ? 1 : shape.weights == 2 ? 4 : 8;
}

int64_t MatmulEmitter::tilesOf(const Segment &segment, Loop loop) {
  return llvm::divideCeil(segment.type.getN(), rowsOfTile(loop));
}

int64_t MatmulEmitter::partialBytes(int64_t tokens, bool appends) const {
  bool halves = appends && segments[0].pairs == Pairs::Halves;
  return shape.parts * (halves ? 2 : shape.weights) * tokens * 20 * 4;
}

int64_t MatmulEmitter::sharedBytesOf(Loop loop, int64_t tokens, bool appends) {
  switch (loop) {
  case Loop::F32Few:
    return 32 * (8 * tokens + 8) * 4;
  case Loop::F32Many:
    return 8 * tokens * 32 * 4;
  case Loop::Few:
    return partialBytes(8, appends) + prologue.sharedBytes;
  case Loop::Decode:
    return partialBytes(tokens, appends);
  case Loop::Prefill: // K has several parts, and their sums take more memory than the results
    return 2 * tokens * 128 + 256 * 8 * (tokens / 16) * 4;
  case Loop::Wgmma:
    return tokens == 256 ? 3 * (tokens * 128 + 3 * 8) + 256 * (tokens / 2) * 4
                         : 4 * (tokens * 128 + 4 * tokens * 4 + 3 * 8) + 256 * (tokens / 2) * 4;
  case Loop::WgmmaFp8:
    return 4 * (tokens * 128 + tokens * 4) + 2 * 4 * 8;
  }
  llvm_unreachable("all loops are covered");
}

std::string MatmulEmitter::sharedText(Loop loop, int64_t tokens, bool appends) {
  const bool halves = appends && segments[0].pairs == Pairs::Halves;
  switch (loop) {
  case Loop::F32Few:
    return "matmul_f32_few_shared()";
  case Loop::F32Many:
    return "matmul_f32_many_shared()";
  case Loop::Few:
  case Loop::Decode:
    return llvm::formatv("matmul_decode_shared({0}, {1}, {2}) + {3}", shape.parts,
                         halves ? 2 : shape.weights, loop == Loop::Few ? 8 : tokens,
                         loop == Loop::Few ? prologue.sharedBytes : 0);
  case Loop::Prefill:
    return llvm::formatv("matmul_prefill_shared({0}, {1})", shape.parts, tokens / 16);
  case Loop::Wgmma: // INGOT_STAGES: a tuning sweep sets it and requests its own number of bytes
    return llvm::formatv("(INGOT_STAGES ? {1} : WgmmaShared<{0}>::bytes)", tokens,
                         sharedBytesOf(loop, tokens, appends));
  case Loop::WgmmaFp8:
    return llvm::formatv("(INGOT_STAGES ? {0} : fp8_shared_bytes())",
                         sharedBytesOf(loop, tokens, appends));
  }
  llvm_unreachable("all loops are covered");
}

uint32_t MatmulEmitter::leastBlocks(Loop loop, int64_t tokens) const {
  if (loop <= Loop::F32Many)
    return 2;
  if (loop >= Loop::Prefill)
    return 0;
  bool super = llvm::any_of(
      segments, [](const Segment &s) { return numericFormat(s.format).superGroup != 0; });
  return super && shape.weights == 2 && tokens <= 8 && shape.parts == 4 ? 3 : 1;
}
