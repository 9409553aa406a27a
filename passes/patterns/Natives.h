//===- Natives.h - What patterns can call ---------------------------------===//
//
// PDL has no arithmetic, no regions and no weights. The functions here fill that gap; Natives.pdll beside this file
// declares them for PDLL, with what each is for. MLIR does not check calls (an unknown name or a wrong number of
// arguments is undefined behaviour), so whoever reads a file compares signatureOf with what there is first.
//
//   Questions.cpp        constraints, and arithmetic on attributes
//   RegionNatives.cpp    Fuse, Missed, and whether targets have a launch
//   WeightNatives.cpp    weights made of rows of others
//   ScaleNatives.cpp     weights multiplied by vectors
//   LaunchNatives.cpp    launches that become part of others
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/PatternMatch.h"

#include <string>

namespace ingot {
class Compositions;
class Target;
namespace lm {
class ModelOp;
}
} // namespace ingot

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
llvm::ArrayRef<Native> launchNatives();
/// All of them.
llvm::SmallVector<Native> natives();

/// What a pdl.apply_native_constraint or _rewrite calls, as `Native::signature` has it.
std::string signatureOf(mlir::Operation *call);

void registerNatives(mlir::PDLPatternModule &patterns);

/// Takes away arguments of layer kinds that nobody reads, and weights that no layer passes and nobody names: their rows
/// were given to others. Unread, they would be packed all the same.
void dropUnreadWeights(lm::ModelOp model);

/// For whom a program is compiled, as far as questions of targets need it.
struct CompiledFor {
  llvm::SmallVector<const Target *> targets; ///< none: nobody is asked
  bool exact = false;
  bool fp8Rows = false; ///< as PipelineOptions has it
};

/// A run of patterns over a program, in this thread: what is said of an op is said once in it.
class Run {
public:
  explicit Run(CompiledFor whom = {}, Compositions *compositions = nullptr);
  ~Run();
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;

  /// Of the run that began last.
  static const CompiledFor &whom();
  /// Null: the program has no launches yet, or nobody says for which device.
  static Compositions *compositions();

  /// The rewrite that runs leaves the program as it was (Missed, a Fuse that cannot be).
  static void leaveAsItWas();
  /// True if the last one did; forgets it.
  static bool leftAsItWas();

  /// What the rewrite that runs asks for cannot be: the first of these ends the run.
  static void fail(const std::string &why);
  /// "": all could be. Forgets it.
  static std::string failure();

  /// The first of what was said to be missed since the outermost run began, "NAME: why"; "": nothing was.
  static const std::string &firstMissed();

private:
  Run *outer;
  CompiledFor own;
  Compositions *composed;
};

/// A missed remark of `op`, unless this run has said the same of it.
void sayMissed(mlir::Operation *op, llvm::StringRef name, const std::string &why);

} // namespace ingot::patterns
