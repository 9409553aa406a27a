//===- KernelBuilder.cpp - See KernelBuilder.h ----------------------------===//
#include "codegen/cpu/KernelBuilder.h"
#include "codegen/RegionWalker.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

KernelBuilder::KernelBuilder(ImplicitLocOpBuilder &b, const Isa &isa, Block &kernel,
                             func::FuncOp fn)
    : b(b), isa(isa), lanes(isa.lanes), ptr(LLVM::LLVMPointerType::get(b.getContext())),
      i8(b.getI8Type()), i16(b.getI16Type()), i32(b.getI32Type()), i64(b.getI64Type()),
      f16(b.getF16Type()), bf16(b.getBF16Type()), f32(b.getF32Type()),
      f32s(VectorType::get({isa.lanes}, b.getF32Type())),
      i32s(VectorType::get({isa.lanes}, b.getI32Type())), begin(fn.getArgument(2)),
      end(fn.getArgument(3)), step(fn.getArgument(4)), ahead(fn.getArgument(6)),
      scratch(fn.getArgument(5)), batch(fn.getArgument(1)), kernelBlock(&kernel),
      module(fn->getParentOfType<ModuleOp>()) {
  assert(fn.getNumArguments() == 7 && "the signature of KernelAbi.h");
  assert((lanes == 8 || lanes == 16) && "registers have 256 or 512 bits");
  for (unsigned i = 0; i < kernelBlock->getNumArguments(); ++i)
    operands.push_back(load(ptr, at(fn.getArgument(0), int64_t(i) * 8)));
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

Value KernelBuilder::operand(Value memory) const {
  auto argument = cast<BlockArgument>(memory);
  assert(argument.getOwner() == kernelBlock && "not an operand of this kernel");
  return operands[argument.getArgNumber()];
}
Value KernelBuilder::batchWord(int64_t offset) { return load(i64, at(batch, offset)); }
Value KernelBuilder::batchPointer(int64_t offset) { return load(ptr, at(batch, offset)); }
Value KernelBuilder::extent(kernel::Extent of) {
  return batchWord(of == kernel::Extent::Tokens ? offsetof(BatchView, tokens)
                                                : offsetof(BatchView, rows));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Returns the value of `v` if it is a constant scalar.
static std::optional<int64_t> constantOf(Value v) {
  APInt value;
  if (!isa<VectorType>(v.getType()) && matchPattern(v, m_ConstantInt(&value)))
    return value.getSExtValue();
  return std::nullopt;
}

Value KernelBuilder::integer(Type type, int64_t v) { return splatInt(type, v); }
Value KernelBuilder::add(Value a, Value c) {
  auto x = constantOf(a), y = constantOf(c);
  if (x && y)
    return integer(a.getType(), *x + *y);
  if (y == 0)
    return a;
  return x == 0 ? c : Value(arith::AddIOp::create(b, a, c));
}
Value KernelBuilder::sub(Value a, Value c) {
  return constantOf(c) == 0 ? a : Value(arith::SubIOp::create(b, a, c));
}
Value KernelBuilder::mul(Value a, Value c) {
  auto x = constantOf(a), y = constantOf(c);
  if (x && y)
    return integer(a.getType(), *x * *y);
  return y == 1 ? a : Value(arith::MulIOp::create(b, a, c));
}
Value KernelBuilder::divUnsigned(Value a, int64_t c) {
  assert(c >= 1 && "a division by nothing");
  if (c == 1)
    return a;
  if (llvm::isPowerOf2_64(c))
    return shiftRight(a, llvm::Log2_64(c));
  return arith::DivUIOp::create(b, a, integer(a.getType(), c));
}
Value KernelBuilder::remUnsigned(Value a, int64_t c) {
  assert(c >= 1 && "a division by nothing");
  if (llvm::isPowerOf2_64(c))
    return bitAnd(a, c - 1);
  return arith::RemUIOp::create(b, a, integer(a.getType(), c));
}
Value KernelBuilder::minSigned(Value a, Value c) { return arith::MinSIOp::create(b, a, c); }
Value KernelBuilder::maxSigned(Value a, Value c) { return arith::MaxSIOp::create(b, a, c); }
Value KernelBuilder::bitAnd(Value a, int64_t mask) {
  return arith::AndIOp::create(b, a, integer(a.getType(), mask));
}
Value KernelBuilder::shiftLeft(Value a, int64_t bits) {
  return bits ? Value(arith::ShLIOp::create(b, a, integer(a.getType(), bits))) : a;
}
Value KernelBuilder::shiftRight(Value a, int64_t bits) {
  return bits ? Value(arith::ShRUIOp::create(b, a, integer(a.getType(), bits))) : a;
}
Value KernelBuilder::widen(Value a, Type to) { return arith::ExtSIOp::create(b, to, a); }
Value KernelBuilder::widenUnsigned(Value a, Type to) { return arith::ExtUIOp::create(b, to, a); }
Value KernelBuilder::narrow(Value a, Type to) { return arith::TruncIOp::create(b, to, a); }
Value KernelBuilder::less(Value a, Value c) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, a, c);
}
Value KernelBuilder::equal(Value a, Value c) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, a, c);
}

Value KernelBuilder::fadd(Value a, Value c) { return arith::AddFOp::create(b, a, c); }
Value KernelBuilder::fsub(Value a, Value c) { return arith::SubFOp::create(b, a, c); }
Value KernelBuilder::fmul(Value a, Value c) { return arith::MulFOp::create(b, a, c); }
Value KernelBuilder::fdiv(Value a, Value c) { return arith::DivFOp::create(b, a, c); }
Value KernelBuilder::fma(Value a, Value c, Value d) { return math::FmaOp::create(b, a, c, d); }
Value KernelBuilder::fmax(Value a, Value c) {
  return select(arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, a, c), a, c);
}
Value KernelBuilder::toFloat(Value integers) {
  return arith::SIToFPOp::create(b, shapedLike(integers.getType(), f32), integers);
}
Value KernelBuilder::extend(Value halves) {
  Type wide = shapedLike(halves.getType(), f32);
  if (!getElementTypeOrSelf(halves.getType()).isBF16())
    return arith::ExtFOp::create(b, wide, halves);
  // bf16 is the upper half of an f32. Generic IR rules out a library call.
  Value bits = bitcast(shapedLike(halves.getType(), i16), halves);
  return bitcast(wide, shiftLeft(widenUnsigned(bits, shapedLike(wide, i32)), 16));
}
Value KernelBuilder::partsOfE4M3(Value codes) {
  Type halves = shapedLike(codes.getType(), i16);
  Value bits = bitAnd(shiftLeft(widen(codes, halves), 7), int64_t(int16_t(0xbfff)));
  return extend(bitcast(shapedLike(halves, f16), bits));
}
Value KernelBuilder::select(Value condition, Value a, Value c) {
  return arith::SelectOp::create(b, condition, a, c);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Type KernelBuilder::shapedLike(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}
Value KernelBuilder::splat(Type type, double v) {
  TypedAttr one = b.getFloatAttr(getElementTypeOrSelf(type), v);
  if (auto vector = dyn_cast<VectorType>(type))
    one = DenseElementsAttr::get(vector, one);
  return arith::ConstantOp::create(b, one);
}
Value KernelBuilder::splatInt(Type type, int64_t v) {
  TypedAttr one = b.getIntegerAttr(getElementTypeOrSelf(type), v);
  if (auto vector = dyn_cast<VectorType>(type))
    one = DenseElementsAttr::get(vector, one);
  return arith::ConstantOp::create(b, one);
}
Value KernelBuilder::constant(ArrayRef<int32_t> lanes) {
  return arith::ConstantOp::create(b,
                                   DenseElementsAttr::get(vec(i32, int64_t(lanes.size())), lanes));
}
Value KernelBuilder::constant(ArrayRef<uint8_t> bytes) {
  SmallVector<int8_t> lanes(bytes.begin(), bytes.end());
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(vec(i8, int64_t(lanes.size())), ArrayRef<int8_t>(lanes)));
}
Value KernelBuilder::broadcast(VectorType type, Value scalar) {
  return vector::BroadcastOp::create(b, type, scalar);
}
Value KernelBuilder::bitcast(Type type, Value v) {
  if (type == v.getType())
    return v;
  if (llvm::isa<VectorType>(type))
    return vector::BitCastOp::create(b, cast<VectorType>(type), v);
  return arith::BitcastOp::create(b, type, v);
}
Value KernelBuilder::slice(Value v, int64_t from, int64_t count) {
  assert(from >= 0 && count >= 1 &&
         from + count <= cast<VectorType>(v.getType()).getNumElements() &&
         "lanes beyond the vector");
  return vector::ExtractStridedSliceOp::create(b, v, ArrayRef<int64_t>{from},
                                               ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
}
Value KernelBuilder::lane(Value v, int64_t index) { return vector::ExtractOp::create(b, v, index); }

/// Halves a vector until one lane is left.
template <typename Combine> static Value reduce(KernelBuilder &k, Value v, Combine combine) {
  assert(llvm::isPowerOf2_64(cast<VectorType>(v.getType()).getNumElements()) &&
         "halves would leave out lanes");
  for (int64_t n = cast<VectorType>(v.getType()).getNumElements(); n > 1; n /= 2)
    v = combine(k.slice(v, 0, n / 2), k.slice(v, n / 2, n / 2));
  return k.lane(v, 0);
}
Value KernelBuilder::sumLanes(Value v) {
  bool integers = getElementTypeOrSelf(v.getType()).isInteger();
  return reduce(*this, v, [&](Value a, Value c) { return integers ? add(a, c) : fadd(a, c); });
}
Value KernelBuilder::maxLanesSigned(Value integers) {
  return reduce(*this, integers, [&](Value a, Value c) { return maxSigned(a, c); });
}
Value KernelBuilder::maxLanes(Value floats) {
  return reduce(*this, floats, [&](Value a, Value c) { return fmax(a, c); });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value KernelBuilder::at(Value base, Value byte) {
  if (auto constant = constantOf(byte))
    return at(base, *constant);
  return LLVM::GEPOp::create(b, ptr, i8, base, ArrayRef<LLVM::GEPArg>{byte});
}
Value KernelBuilder::at(Value base, int64_t byte) {
  if (byte == 0)
    return base;
  if (!llvm::isInt<32>(byte))
    return LLVM::GEPOp::create(b, ptr, i8, base, ArrayRef<LLVM::GEPArg>{word(byte)});
  return LLVM::GEPOp::create(b, ptr, i8, base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(byte)});
}
static int64_t elementBytes(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIntOrFloat() ? (element.getIntOrFloatBitWidth() + 7) / 8 : 8;
}
Value KernelBuilder::load(Type type, Value from, int64_t align) {
  return LLVM::LoadOp::create(b, type, from, align ? align : elementBytes(type));
}
void KernelBuilder::store(Value v, Value to, int64_t align) {
  LLVM::StoreOp::create(b, v, to, align ? align : elementBytes(v.getType()));
}
Value KernelBuilder::gather(VectorType type, Value from, Value indices) {
  const int64_t count = type.getNumElements();
  if (type ==
      vec(i32, 8)) // LLVM expands a gather to 40 instructions, since some CPUs have slow gathers
    return intrinsic("llvm.x86.avx2.gather.d.d.256", type,
                     {splatInt(type, 0), from, indices, splatInt(type, -1), integer(i8, 4)});
  Value places = LLVM::GEPOp::create(b, vec(ptr, count), type.getElementType(), from,
                                     ArrayRef<LLVM::GEPArg>{indices});
  Value all = arith::ConstantOp::create(b, DenseElementsAttr::get(vec(b.getI1Type(), count), true));
  return LLVM::masked_gather::create(b, type, places, all, ValueRange(),
                                     static_cast<uint32_t>(elementBytes(type)));
}
Value KernelBuilder::constantWords(StringRef name, ArrayRef<int32_t> words) {
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    const auto count = static_cast<int64_t>(words.size());
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(i32, count), /*isConstant=*/true,
                           LLVM::Linkage::Internal, name,
                           DenseElementsAttr::get(RankedTensorType::get({count}, i32), words),
                           /*alignment=*/64);
  }
  return LLVM::AddressOfOp::create(b, ptr, name);
}
void KernelBuilder::touch(Value from) {
  LLVM::LoadOp::create(b, i32, from, elementBytes(i32), /*isVolatile=*/true);
}
void KernelBuilder::prefetch(Value from) {
  LLVM::Prefetch::create(b, from, /*rw=*/0, /*hint=*/3, /*cache=*/1);
}
void KernelBuilder::prefetchL2(Value from) {
  LLVM::Prefetch::create(b, from, /*rw=*/0, /*hint=*/2, /*cache=*/1);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

KernelBuilder::Values KernelBuilder::loop(Value from, Value to, Value by, ValueRange init,
                                          CarriedBody body) {
  auto op = scf::ForOp::create(b, from, to, by, init,
                               [&](OpBuilder &, Location, Value i, ValueRange carried) {
                                 scf::YieldOp::create(b, body(i, carried));
                               });
  return Values(op.getResults());
}
void KernelBuilder::loop(Value from, Value to, Value by, function_ref<void(Value)> body) {
  loop(from, to, by, ValueRange(), [&](Value i, ValueRange) { return body(i), Values(); });
}
void KernelBuilder::when(Value condition, function_ref<void()> body) {
  scf::IfOp::create(b, condition, [&](OpBuilder &, Location) {
    body();
    scf::YieldOp::create(b);
  });
}
KernelBuilder::Values KernelBuilder::choose(Value condition, function_ref<Values()> yes,
                                            function_ref<Values()> no) {
  auto op = scf::IfOp::create(
      b, condition, [&](OpBuilder &, Location) { scf::YieldOp::create(b, yes()); },
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, no()); });
  return Values(op.getResults());
}
Value KernelBuilder::dotU8S8(Value sum, Value unsignedBytes, Value signedBytes) {
  assert(isa.dot == DotKind::Vpdpbusd && "the level has no such instruction");
  if (!isa.emulated)
    return intrinsic(lanes == 16 ? "llvm.x86.avx512.vpdpbusd.512" : "llvm.x86.avx512.vpdpbusd.256",
                     i32s, {sum, unsignedBytes, signedBytes});
  for (int64_t byte = 0; byte < 4; ++byte) {
    llvm::SmallVector<int64_t> each;
    for (int64_t i = 0; i < lanes; ++i)
      each.push_back(4 * i + byte);
    Value u = vector::ShuffleOp::create(b, unsignedBytes, unsignedBytes, each);
    Value s = vector::ShuffleOp::create(b, signedBytes, signedBytes, each);
    sum = add(sum, mul(widenUnsigned(u, i32s), widen(s, i32s)));
  }
  return sum;
}

Value KernelBuilder::lookUp(Value codes, llvm::ArrayRef<uint8_t> table) {
  assert(table.size() == 16 && "one 128-bit lane of vpshufb");
  auto type = cast<VectorType>(codes.getType());
  const int64_t count = type.getNumElements();
  assert((count == 16 || count == 32 || count == 64) && "vpshufb has no such width");
  if (isa.emulated && count == 64) { // split into two of 32, since the machine has at least AVX2
    llvm::SmallVector<int64_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    Value low = lookUp(slice(codes, 0, 32), table), high = lookUp(slice(codes, 32, 32), table);
    return vector::ShuffleOp::create(b, low, high, all);
  }
  llvm::SmallVector<uint8_t> lanes;
  for (int64_t i = 0; i < count; ++i)
    lanes.push_back(table[i % 16]);
  Value tables = constant(lanes);
  return intrinsic(count == 64   ? "llvm.x86.avx512.pshuf.b.512"
                   : count == 32 ? "llvm.x86.avx2.pshuf.b"
                                 : "llvm.x86.ssse3.pshuf.b.128",
                   type, {tables, codes});
}

Value KernelBuilder::lookUpOf5Bits(Value nibbles, Value fifth, llvm::ArrayRef<uint8_t> table) {
  assert(table.size() == 32 && "five bits are an index below 32");
  auto type = cast<VectorType>(nibbles.getType());
  if (isa.vbmi && !isa.emulated && type.getNumElements() == 64) {
    llvm::SmallVector<uint8_t> lanes;
    for (int i = 0; i < 64; ++i) // indexes have at most five bits
      lanes.push_back(table[i % 32]);
    Value tables = constant(lanes);
    Value words = bitcast(vec(i16, type.getNumElements() / 2), fifth);
    Value index = arith::OrIOp::create(b, nibbles, bitcast(type, shiftRight(words, 3)));
    return intrinsic("llvm.x86.avx512.permvar.qi.512", type, {tables, index});
  }
  // vpshufb gives 0 where bit 7 is set.
  Value low = arith::OrIOp::create(b, nibbles, fifth);
  Value high = arith::XOrIOp::create(b, low, splatInt(type, -128));
  return arith::OrIOp::create(b, lookUp(low, table.take_front(16)),
                              lookUp(high, table.drop_front(16)));
}

Value KernelBuilder::dotPairs(Value a, Value c) {
  auto words = [&](Value v, int64_t from, int64_t count) {
    Value pairs = bitcast(vec(i16, 2 * lanes), v);
    return count == lanes ? pairs : slice(pairs, 2 * from, 2 * count);
  };
  if (isa.emulated && lanes == 16) { // two of 8: AVX2 is available
    llvm::SmallVector<int64_t> all(lanes);
    std::iota(all.begin(), all.end(), 0);
    Value halves[2];
    for (int half : {0, 1})
      halves[half] = intrinsic("llvm.x86.avx2.pmadd.wd", vec(i32, 8),
                               {words(a, 8 * half, 8), words(c, 8 * half, 8)});
    return vector::ShuffleOp::create(b, halves[0], halves[1], all);
  }
  return intrinsic(lanes == 16 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd", i32s,
                   {words(a, 0, lanes), words(c, 0, lanes)});
}

Value KernelBuilder::merge(Value mask, Value yes, Value no) {
  if (isa.emulated || lanes != 16) {
    Value others = arith::XOrIOp::create(b, mask, splatInt(mask.getType(), -1));
    return arith::OrIOp::create(b, arith::AndIOp::create(b, mask, yes),
                                arith::AndIOp::create(b, others, no));
  }
  // An intrinsic, because LLVM turns the generic form into two instructions.
  return bitcast(yes.getType(), intrinsic("llvm.x86.avx512.pternlog.d.512", i32s,
                                          {bitcast(i32s, mask), bitcast(i32s, yes),
                                           bitcast(i32s, no), integer(i32, 0xca)}));
}

Value KernelBuilder::toNearestInts(Value v) {
  if (isa.emulated && lanes == 16) { // two of 8: AVX2 is available
    llvm::SmallVector<int64_t> all(lanes);
    std::iota(all.begin(), all.end(), 0);
    Value halves[2];
    for (int half : {0, 1})
      halves[half] = intrinsic("llvm.x86.avx.cvt.ps2dq.256", vec(i32, 8), slice(v, 8 * half, 8));
    return vector::ShuffleOp::create(b, halves[0], halves[1], all);
  }
  if (lanes == 8)
    return intrinsic("llvm.x86.avx.cvt.ps2dq.256", i32s, v);
  Value zeros = splatInt(i32s, 0), every = integer(i16, -1), nearest = integer(i32, 8);
  return intrinsic("llvm.x86.avx512.mask.cvtps2dq.512", i32s, {v, zeros, every, nearest});
}

Value KernelBuilder::packToBytes(ValueRange four) {
  assert(four.size() == 4 && "a register of bytes");
  if (isa.emulated && lanes == 16) {
    llvm::SmallVector<int64_t> pairs(2 * lanes), order;
    std::iota(pairs.begin(), pairs.end(), 0);
    for (int64_t lane = 0; lane < lanes; lane += 4)
      for (int64_t part = 0; part < 4; ++part)
        for (int64_t i = 0; i < 4; ++i)
          order.push_back(part * lanes + lane + i);
    Value low = vector::ShuffleOp::create(b, four[0], four[1], pairs);
    Value high = vector::ShuffleOp::create(b, four[2], four[3], pairs);
    return narrow(vector::ShuffleOp::create(b, low, high, order), vec(i8, 4 * lanes));
  }
  llvm::StringRef toHalves =
                      lanes == 16 ? "llvm.x86.avx512.packusdw.512" : "llvm.x86.avx2.packusdw",
                  toBytes = lanes == 16 ? "llvm.x86.avx512.packuswb.512" : "llvm.x86.avx2.packuswb";
  VectorType halves = vec(i16, 2 * lanes), bytes = vec(i8, 4 * lanes);
  return intrinsic(toBytes, bytes,
                   {intrinsic(toHalves, halves, {four[0], four[1]}),
                    intrinsic(toHalves, halves, {four[2], four[3]})});
}

Value KernelBuilder::intrinsic(StringRef name, Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(name), operands).getResult(0);
}

void KernelBuilder::instruction(StringRef name, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr(name), operands);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

Value KernelBuilder::elementwise(Operation *op, ArrayRef<Value> operands, int64_t count) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    TypedAttr value = constant.getValue();
    if (count)
      value = DenseElementsAttr::get(vec(constant.getType(), count), value);
    return arith::ConstantOp::create(b, value);
  }
  if (!OpTrait::hasElementwiseMappableTraits(op))
    return Value();
  IRMapping map;
  map.map(op->getOperands(), operands);
  Value result = b.clone(*op, map)->getResult(0);
  if (count)
    result.setType(vec(result.getType(), count));
  return result;
}

FailureOr<KernelBuilder::Values> KernelBuilder::inlineRegion(Region &region, ValueRange operands,
                                                             int64_t count, SpecialOp special) {
  RegionWalker<Value> walker("CPU", [&](Operation *op, ArrayRef<Value> forms) {
    Value value = elementwise(op, forms, count);
    return !value && special && forms.size() == 1 ? special(op, forms[0]) : value;
  });
  for (auto [argument, operand] : llvm::zip(region.getArguments(), operands))
    walker.set(argument, operand);
  auto yielded = walker.walk(region.front());
  if (failed(yielded))
    return failure();
  return Values(*yielded);
}
