//===- RopeRound.cpp - See RopeRound.h ------------------------------------===//
#include "codegen/cpu/RopeRound.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

Type ingot::codegen::cpu::storedType(KernelBuilder &k, KvFormat element) {
  return element == KvFormat::F32 ? k.f32 : element == KvFormat::F16 ? k.f16 : k.i16;
}

static Value roundToBF16(KernelBuilder &k, Value v) {
  Type words = k.shapedLike(v.getType(), k.i32), halves = k.shapedLike(v.getType(), k.i16);
  Value bits = k.bitcast(words, v);
  Value even = k.bitAnd(k.shiftRight(bits, 16), 1);
  Value rounded = k.shiftRight(k.add(k.add(bits, even), 0x7fff), 16);
  Value quiet = arith::OrIOp::create(k.b, k.shiftRight(bits, 16), k.splatInt(words, 0x40));
  Value isNan = arith::CmpFOp::create(k.b, arith::CmpFPredicate::UNO, v, v);
  return k.narrow(k.select(isNan, quiet, rounded), halves);
}

static Value roundToF16(KernelBuilder &k, Value v) {
  Value most = k.splat(v.getType(), 65504), least = k.splat(v.getType(), -65504);
  v = k.select(arith::CmpFOp::create(k.b, arith::CmpFPredicate::OGT, v, most), most, v);
  v = k.select(arith::CmpFOp::create(k.b, arith::CmpFPredicate::OLT, v, least), least, v);
  return arith::TruncFOp::create(k.b, k.shapedLike(v.getType(), k.f16), v);
}

Value ingot::codegen::cpu::roundToStored(KernelBuilder &k, Value v, KvFormat element) {
  return element == KvFormat::F32   ? v
         : element == KvFormat::F16 ? roundToF16(k, v)
                                    : roundToBF16(k, v);
}
