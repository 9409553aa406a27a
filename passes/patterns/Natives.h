//===- Natives.h - What patterns can call ---------------------------------===//
//
// PDL has no arithmetic, no regions and no weights. The functions here fill that gap; Natives.pdll beside this file
// declares them for PDLL, with what each is for. MLIR does not check calls (an unknown name or a wrong number of
// arguments is undefined behaviour), so whoever reads a file compares signatureOf with what there is first.
//
//   Questions.cpp        constraints, and arithmetic on attributes
//   RegionNatives.cpp    Fuse, Missed
//   WeightNatives.cpp    weights made of rows of others
//   ScaleNatives.cpp     weights multiplied by vectors
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/PatternMatch.h"

#include <string>

namespace ingot::lm {
class ModelOp;
}

namespace ingot::patterns {

struct Native {
  /// "Product(attribute, attribute) -> attribute".
  llvm::StringLiteral signature;
  bool isConstraint;
  void (*addTo)(mlir::PDLPatternModule &patterns, llvm::StringRef name);

  llvm::StringRef name() const {
    return signature.take_until([](char c) { return c == '('; });
  }
};

/// A constraint (which a match asks), or what a rewrite calls.
template <auto function> constexpr Native asks(llvm::StringLiteral signature) {
  return {signature, true, [](mlir::PDLPatternModule &patterns, llvm::StringRef name) {
            patterns.registerConstraintFunction(name, *function);
          }};
}
template <auto function> constexpr Native does(llvm::StringLiteral signature) {
  return {signature, false, [](mlir::PDLPatternModule &patterns, llvm::StringRef name) {
            patterns.registerRewriteFunction(name, *function);
          }};
}

llvm::ArrayRef<Native> questions();
llvm::ArrayRef<Native> regionNatives();
llvm::ArrayRef<Native> weightNatives();
llvm::ArrayRef<Native> scaleNatives();
/// All of them.
llvm::SmallVector<Native> natives();

/// What a pdl.apply_native_constraint or _rewrite calls, as `Native::signature` has it.
std::string signatureOf(mlir::Operation *call);

void registerNatives(mlir::PDLPatternModule &patterns);

/// Takes away arguments of layer kinds that nobody reads, and weights that no layer passes and nobody names: their rows
/// were given to others. Unread, they would be packed all the same.
void dropUnreadWeights(lm::ModelOp model);

/// A run of patterns over a program, in this thread: what is said of an op is said once in it.
class Run {
public:
  Run();
  ~Run();

  /// True if the last rewrite left the program as it was (Missed, a Fuse that cannot be); forgets it.
  static bool leftAsItWas();
};

} // namespace ingot::patterns
