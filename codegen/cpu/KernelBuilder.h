//===- KernelBuilder.h - Primitives of the CPU kernel generators -----------===//
//
// A generator is C++ code that emits MLIR: loops as scf.for over i64 with f32 vectors
// as carried values; arithmetic in arith/math/vector on 1-D vectors; memory accesses in
// the LLVM dialect, for exact alignment and immediate offsets; target instructions as
// llvm.call_intrinsic. Loops with constant bounds are unrolled here, not by LLVM.
//
// Every kernel has the C signature of runtime/abi/KernelAbi.h. The builder
// loads the operands' addresses once, at the function's entry:
//
//   forEachItem([&](Value row) {
//     Value x = at(operand(op.getX()), mul(row, rowBytes));
//     Value v = load(f32s, x);                      // one register
//     store(fmul(v, splat(0.5)), at(y, 64));
//   });
//
// Integers are i64 unless a name says otherwise; the constants 0 and 1 fold away.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/Isa.h"
#include "dialects/kernel/KernelDialect.h"
#include "runtime/abi/KernelAbi.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ingot::codegen::cpu {

class KernelBuilder {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using Values = llvm::SmallVector<Value>;

  /// Builds at the entry of `fn`, which has the ABI's signature and an entry block. `kernel` is the body of a
  /// kernel.func.
  KernelBuilder(mlir::ImplicitLocOpBuilder &b, const Isa &isa, mlir::Block &kernel,
                mlir::func::FuncOp fn);

  mlir::ImplicitLocOpBuilder &b;
  const Isa &isa;
  const int lanes; ///< f32 lanes of a register, isa.lanes
  const Type ptr, i8, i16, i32, i64, f16, bf16, f32;
  const mlir::VectorType f32s, i32s; ///< types of one register

  //===--- The call ---------------------------------------------------------===//

  Value begin, end, step; ///< of the work items
  Value ahead;            ///< the ABI's prefetch distance (KernelAbi.h)
  Value scratch, batch;   ///< pointers

  /// Returns the base address of the memory of an operand of an op of the kernel.
  Value operand(Value memory) const;
  /// Loads a field of the BatchView: batchWord(offsetof(BatchView, tokens)).
  Value batchWord(int64_t offset);
  Value batchPointer(int64_t offset);
  /// Loads the number of tokens or of logits rows of the batch.
  Value extent(kernel::Extent of);
  /// for (item = begin; item < end; item += step) body(item)
  void forEachItem(llvm::function_ref<void(Value item)> body) { loop(begin, end, step, body); }

  //===--- Integers (any width; constants take the type of the value) -------===//

  Value word(int64_t v) { return integer(i64, v); } ///< an i64 constant
  Value integer(Type type, int64_t v);
  Value add(Value a, Value c);
  Value add(Value a, int64_t c) { return c ? add(a, integer(a.getType(), c)) : a; }
  Value sub(Value a, Value c);
  Value sub(Value a, int64_t c) { return c ? sub(a, integer(a.getType(), c)) : a; }
  Value mul(Value a, Value c);
  Value mul(Value a, int64_t c) { return c == 1 ? a : mul(a, integer(a.getType(), c)); }
  Value divUnsigned(Value a, int64_t c); ///< a shift where c is a power of two
  Value remUnsigned(Value a, int64_t c);
  Value minSigned(Value a, Value c);
  Value maxSigned(Value a, Value c);
  Value bitAnd(Value a, int64_t mask);
  Value shiftLeft(Value a, int64_t bits);
  Value shiftRight(Value a, int64_t bits); ///< unsigned
  Value widen(Value a, Type to);           ///< sign extension
  Value widenUnsigned(Value a, Type to);
  Value narrow(Value a, Type to);
  Value less(Value a, Value c); ///< signed, i1
  Value equal(Value a, Value c);

  //===--- Floats (scalars or vectors) --------------------------------------===//

  Value fadd(Value a, Value c);
  Value fsub(Value a, Value c);
  Value fmul(Value a, Value c);
  Value fdiv(Value a, Value c);
  Value fma(Value a, Value c, Value d); ///< a * c + d, rounded once
  Value fmax(Value a, Value c);         ///< returns c if either is NaN (one vmaxps)
  Value toFloat(Value integers);        ///< signed to f32
  Value extend(Value halves);           ///< f16 or bf16 to f32
  Value partsOfE4M3(Value codes);       ///< the values times 2^-8, exact (MatmulFp8.cpp)
  Value select(Value condition, Value a, Value c);

  //===--- Vectors ----------------------------------------------------------===//

  mlir::VectorType vec(Type element, int64_t count) {
    return mlir::VectorType::get({count}, element);
  }
  /// Returns the type with elements `element` and the lanes of the vector (or scalar) type `like`.
  Type shapedLike(Type like, Type element);
  Value splat(double v) { return splat(f32s, v); }
  Value splat(Type type, double v);     ///< float constant, scalar or vector
  Value splatInt(Type type, int64_t v); ///< integer constant, scalar or vector
  /// Integer constants that differ by lane: vectors of i32, and of bytes.
  Value constant(llvm::ArrayRef<int32_t> lanes);
  Value constant(llvm::ArrayRef<uint8_t> bytes);
  Value broadcast(mlir::VectorType type, Value scalar);
  Value bitcast(Type type, Value v);
  /// Sums lanes, floats or integers, by halving (i, i + n/2): a fixed order.
  Value sumLanes(Value v);
  Value maxLanesSigned(Value integers);
  Value maxLanes(Value floats); ///< no lane may be NaN
  Value lane(Value v, int64_t index);
  Value slice(Value v, int64_t from, int64_t count);

  //===--- Instructions of an ISA level ---------------------------------------===//
  //
  // These are emulated in generic IR if isa.emulated is set, with the same bits.

  /// Adds to each lane of `sum` the dot product of four u8 and four s8 (vpdpbusd).
  Value dotU8S8(Value sum, Value unsignedBytes, Value signedBytes);
  /// Byte by byte: table[code], for codes below 16 (vpshufb). `codes` is 16 bytes or a register.
  Value lookUp(Value codes, llvm::ArrayRef<uint8_t> table);
  /// Looks up each byte in a table of 32 bytes. The lower four bits of an index are in `nibbles`. Its fifth bit is bit
  /// 7 of `fifth`; the other bits of `fifth` are 0.
  Value lookUpOf5Bits(Value nibbles, Value fifth, llvm::ArrayRef<uint8_t> table);
  /// Returns, for each lane, the dot product of two s16 and two s16 (vpmaddwd).
  Value dotPairs(Value a, Value c);
  /// Selects each bit from `yes` where `mask` has a 1, and from `no` elsewhere (vpternlog). Operands are registers of
  /// bytes.
  Value merge(Value mask, Value yes, Value no);
  /// Converts f32s to the nearest integers, ties to even: vcvtps2dq in the default rounding mode.
  Value toNearestInts(Value v);
  /// Packs four registers of integers from 0 to 255 into one of bytes. Each 16 bytes come from the same
  /// 128-bit lane of the four registers in turn (vpackusdw, vpackuswb).
  Value packToBytes(mlir::ValueRange four);

  //===--- Memory -----------------------------------------------------------===//

  Value at(Value base, Value byte);
  Value at(Value base, int64_t byte);
  /// `align` is in bytes; 0: the alignment of one element.
  Value load(Type type, Value from, int64_t align = 0);
  void store(Value v, Value to, int64_t align = 0);
  /// Loads element indices[i] of the array at `from` into lane i.
  Value gather(mlir::VectorType type, Value from, Value indices);
  /// Returns the address of constant words in the kernel's code, created once for each name.
  Value constantWords(llvm::StringRef name, llvm::ArrayRef<int32_t> words);
  /// Reads one element from memory into every lane.
  Value loadSplat(mlir::VectorType type, Value from) {
    return broadcast(type, load(type.getElementType(), from));
  }
  void touch(Value from);    ///< reads a word of the line and discards it
  void prefetch(Value from); ///< to L1, for reading
  void prefetchL2(Value from);

  //===--- Control ----------------------------------------------------------===//

  using CarriedBody = llvm::function_ref<Values(Value i, mlir::ValueRange carried)>;
  Values loop(Value from, Value to, Value by, mlir::ValueRange init, CarriedBody body);
  void loop(Value from, Value to, Value by, llvm::function_ref<void(Value i)> body);
  void loop(int64_t from, int64_t to, int64_t by, llvm::function_ref<void(Value i)> body) {
    loop(word(from), word(to), word(by), body);
  }
  /// if (condition) body()
  void when(Value condition, llvm::function_ref<void()> body);
  /// condition ? yes() : no(); both return values of the same types
  Values choose(Value condition, llvm::function_ref<Values()> yes, llvm::function_ref<Values()> no);

  Value intrinsic(llvm::StringRef name, Type result, mlir::ValueRange operands);
  /// Emits an intrinsic without a result.
  void instruction(llvm::StringRef name, mlir::ValueRange operands);

  //===--- Regions ----------------------------------------------------------===//

  /// Renders an op of a region that is not elementwise (row_stat). Returns null if it cannot.
  using SpecialOp = llvm::function_ref<Value(mlir::Operation *op, Value operand)>;
  /// Emits a scalar f32 op of a region on vectors of `count` lanes (0: scalars). Returns null if the
  /// op is not elementwise.
  Value elementwise(mlir::Operation *op, llvm::ArrayRef<Value> operands, int64_t count);
  /// Clones a region of scalar f32 ops onto vectors of `count` lanes (0: scalars), with `operands` as
  /// its arguments; constants are splatted. Returns the yielded values.
  mlir::FailureOr<Values> inlineRegion(mlir::Region &region, mlir::ValueRange operands,
                                       int64_t count, SpecialOp special = nullptr);

private:
  mlir::Block *kernelBlock;
  mlir::ModuleOp module; ///< parent of the function
  Values operands;
};

} // namespace ingot::codegen::cpu
