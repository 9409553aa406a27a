//===- Custom.cpp - kernel.custom: a body of MLIR, called for each row -----===//
//
// The text of a custom kernel holds one func.func that is not private. Its arguments are the lm op's operands,
// in that order, then the op's results:
//
//   activations [n, width]     the row of this token (memref<?xf32>)
//   vector                     the whole vector (memref<?xf32>)
//   operand of type `batch`    the position of this token (i64)
//   state                      the values of the state (memref<?xf32>), which the body updates in place
//
// The body is called as follows:
//
//   each token        row(x, w, position, y)
//   each span         the snapshot that it begins with, or zeros, is copied to scratch memory;
//     each token        row(x, w, position, state, y)
//                       if a snapshot after that token is requested, scratch memory is copied to its slot
//
// The padding after a row's last value is written here, so a body sees only the values.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Custom.h"
#include "codegen/cpu/Emitters.h"
#include "codegen/cpu/RowwiseLanes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;
using kernel::ActivationType;

namespace {

class CustomEmitter {
public:
  CustomEmitter(KernelBuilder &k, kernel::CustomOp op)
      : k(k), op(op), rowMemory(MemRefType::get({ShapedType::kDynamic}, k.f32)) {}

  LogicalResult emit() {
    if (failed(takeBody()))
      return failure();
    if (op.getState())
      k.forEachItem([&](Value span) { emitSpan(span); });
    else
      k.forEachItem([&](Value token) { emitToken(token); });
    return success();
  }

private:
  /// Moves the functions of the text into the kernel's module, as private functions.
  LogicalResult takeBody();
  Type memoryType(Value memory) const { return memory ? Type(rowMemory) : k.i64; }

  Value field(Value of, int64_t offset) { return k.widen(k.load(k.i32, k.at(of, offset)), k.i64); }
  Value rowOf(Value memory, ActivationType type, Value token) {
    return k.at(k.operand(memory), k.mul(token, type.rowBytes()));
  }
  /// Returns a memref of `count` floats at `base`.
  Value view(Value base, int64_t count);
  Value stateView() {
    return view(k.scratch, op.getState().getType().getLayout().getStreams().front().values());
  }

  void emitToken(Value token);
  void emitSpan(Value number);
  void copyState(Value from, Value to);
  Value slot(Value number) {
    return k.at(k.operand(op.getState()), k.mul(number, op.getState().getType().slotBytes()));
  }

  KernelBuilder &k;
  kernel::CustomOp op;
  MemRefType rowMemory;
  func::FuncOp body;
};

} // namespace

LogicalResult CustomEmitter::takeBody() {
  OwningOpRef<ModuleOp> text = parseSourceString<ModuleOp>(
      op.getBody(), ParserConfig(op.getContext()), ("body of " + op.getOrigin()).str());
  if (!text)
    return failure();
  SmallVector<Type> types;
  for (Value memory : op.memoryOfArguments())
    types.push_back(memoryType(memory));
  types.append(op.getOutputs().size(), rowMemory);
  auto expected = FunctionType::get(op.getContext(), types, {});
  Operation *module = k.begin.getParentBlock()->getParentOp()->getParentOp();
  OpBuilder b(op.getContext());
  b.setInsertionPointToStart(&module->getRegion(0).front());
  for (Operation &inner : llvm::make_early_inc_range(*text->getBody())) {
    auto function = dyn_cast<func::FuncOp>(inner);
    if (!function || function.isDeclaration())
      return inner.emitOpError("expects only functions with bodies");
    if (function.isPublic()) {
      if (body)
        return function.emitOpError("expects one function that is not private");
      if (function.getFunctionType() != expected)
        return function.emitOpError("expects the type ")
               << expected << ", got " << function.getFunctionType();
      body = function;
    }
    function->remove();
    b.insert(function);
    function.setPrivate();
    function->setAttr("llvm.linkage",
                      LLVM::LinkageAttr::get(op.getContext(), LLVM::Linkage::Internal));
  }
  if (!body)
    return op.emitOpError("expects a function in its body that is not private");
  if (body.getName() == cast<func::FuncOp>(k.begin.getParentBlock()->getParentOp()).getName())
    body.setName((body.getName() + ".body").str());
  return success();
}

Value CustomEmitter::view(Value base, int64_t count) {
  ImplicitLocOpBuilder &b = k.b;
  auto one = LLVM::LLVMArrayType::get(k.i64, 1);
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), {k.ptr, k.ptr, k.i64, one, one});
  Value made = LLVM::PoisonOp::create(b, type);
  auto put = [&](Value value, ArrayRef<int64_t> at) {
    made = LLVM::InsertValueOp::create(b, made, value, at);
  };
  put(base, 0), put(base, 1), put(k.word(0), 2);
  put(k.word(count), {3, 0}), put(k.word(1), {4, 0});
  return UnrealizedConversionCastOp::create(b, rowMemory, made).getResult(0);
}

void CustomEmitter::emitToken(Value token) {
  KernelBuilder::Values operands;
  for (Value memory : op.memoryOfArguments()) {
    if (!memory)
      operands.push_back(k.widen(
          k.load(k.i32, k.at(k.batchPointer(offsetof(BatchView, positions)), k.mul(token, 4))),
          k.i64));
    else if (auto rows = dyn_cast<ActivationType>(memory.getType()))
      operands.push_back(view(rowOf(memory, rows, token), rows.getN()));
    else if (memory == op.getState())
      operands.push_back(stateView());
    else
      operands.push_back(view(k.operand(memory), cast<lm::WeightType>(memory.getType()).rows()));
  }
  for (Value output : op.getOutputs()) {
    auto rows = cast<ActivationType>(output.getType());
    operands.push_back(view(rowOf(output, rows, token), rows.getN()));
  }
  func::CallOp::create(k.b, body, operands);
  for (Value output : op.getOutputs()) { // padding
    auto rows = cast<ActivationType>(output.getType());
    for (int64_t byte = 4 * rows.getN(); byte < rows.rowBytes(); byte += 4)
      k.store(k.splat(k.f32, 0), k.at(rowOf(output, rows, token), byte));
  }
}

/// Copies a state, or zeros it if `from` is null. Slots and scratch memory are whole lines.
void CustomEmitter::copyState(Value from, Value to) {
  VectorType f32x16 = k.vec(k.f32, kRowLanes);
  k.loop(0, op.getState().getType().slotBytes(), 64, [&](Value byte) {
    k.store(from ? k.load(f32x16, k.at(from, byte)) : k.splat(f32x16, 0), k.at(to, byte));
  });
}

void CustomEmitter::emitSpan(Value number) {
  Value span =
      k.at(k.batchPointer(offsetof(BatchView, stateSpans)), k.mul(number, sizeof(StateSpan)));
  Value firstToken = field(span, offsetof(StateSpan, firstToken)),
        tokens = field(span, offsetof(StateSpan, tokens)),
        from = field(span, offsetof(StateSpan, from)),
        firstWrite = field(span, offsetof(StateSpan, firstWrite)),
        writes = field(span, offsetof(StateSpan, writes));
  k.when(k.less(from, k.word(0)), [&] { copyState(Value(), k.scratch); });
  k.when(k.less(k.word(-1), from), [&] { copyState(slot(from), k.scratch); });
  k.loop(firstToken, k.add(firstToken, tokens), k.word(1), [&](Value token) {
    emitToken(token);
    k.loop(firstWrite, k.add(firstWrite, writes), k.word(1), [&](Value i) {
      Value write =
          k.at(k.batchPointer(offsetof(BatchView, stateWrites)), k.mul(i, sizeof(StateWrite)));
      k.when(k.equal(field(write, offsetof(StateWrite, token)), token),
             [&] { copyState(k.scratch, slot(field(write, offsetof(StateWrite, slot)))); });
    });
  });
}

LogicalResult ingot::codegen::cpu::emitCustom(KernelBuilder &k, kernel::CustomOp op) {
  return CustomEmitter(k, op).emit();
}

int64_t ingot::codegen::cpu::customScratchBytes(kernel::CustomOp op) {
  return op.getState() ? op.getState().getType().slotBytes() : 0;
}
