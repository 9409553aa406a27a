//===- RopeTable.cpp - kernel.rope_table: cosines and sines of a step -----===//
//
// The table is written once per step and read by every layer:
//
//   row t:  cos(p f0) … cos(p fc-1) | sin(p f0) … sin(p fc-1) | 0 … to a multiple of 32
//
// p f is rounded to f32, as in HF transformers, so distant positions rotate by the angles with
// which a model was trained. Cosine and sine of that f32 are accurate to 1 ulp
// (MathApproximation.h).
//===----------------------------------------------------------------------===//
#include "codegen/cpu/Emitters.h"
#include "codegen/cpu/MathApproximation.h"
#include "codegen/cpu/RowwiseLanes.h"
#include "dialects/kernel/ops/Rope.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

LogicalResult ingot::codegen::cpu::emitRopeTable(KernelBuilder &k, kernel::RopeTableOp op) {
  int64_t count = op.getFrequencies().getType().rows(),
          rowBytes = op.getOutput().getType().rowBytes();
  VectorType f32x16 = k.vec(k.f32, kRowLanes);
  Value factor = k.splat(f32x16, op.getFactor().convertToDouble());
  Value positions = k.batchPointer(offsetof(BatchView, positions));
  Value frequencies = k.operand(op.getFrequencies());
  k.forEachItem([&](Value token) {
    Value position = k.toFloat(k.load(k.i32, k.at(positions, k.mul(token, 4))));
    Value angleOf1 = k.broadcast(f32x16, position);
    Value row = k.at(k.operand(op.getOutput()), k.mul(token, rowBytes));
    if (2 * count % kPanelRows) // padding; values in these bytes are overwritten below
      for (int64_t byte = rowBytes - 128; byte < rowBytes; byte += 64)
        k.store(k.splat(f32x16, 0), k.at(row, byte), 64);
    k.loop(0, count / kRowLanes * kRowLanes * 4, kRowLanes * 4, [&](Value byte) {
      Value angle = k.fmul(angleOf1, k.load(f32x16, k.at(frequencies, byte), 64));
      auto [cosine, sine] = emitCosSin(k.b, angle);
      k.store(k.fmul(cosine, factor), k.at(row, byte));
      k.store(k.fmul(sine, factor), k.at(k.at(row, byte), count * 4));
    });
    if (int64_t rest = count % kRowLanes) {
      int64_t byte = (count - rest) * 4;
      Value angle = k.fmul(angleOf1, k.load(f32x16, k.at(frequencies, byte), 64));
      auto [cosine, sine] = emitCosSin(k.b, angle);
      storeFirst(k, k.fmul(cosine, factor), k.at(row, byte), rest);
      storeFirst(k, k.fmul(sine, factor), k.at(row, byte + count * 4), rest);
    }
  });
  return success();
}
