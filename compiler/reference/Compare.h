//===- Compare.h - Does a pass keep what a program computes? --------------===//
//
// Two programs run on a small slice: one layer of each kind, two sequences of which one
// has a past longer than the windows, a step of a few tokens and then a step of one token
// each, which reads the keys and values that the first step wrote.
//
// A pass that gives weights other formats is judged on numbers that are not rounded: wired
// as before, it computes as before. What the rounding costs is measured beside that.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Interpreter.h"

#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace ingot::reference {

/// Of a logit against the largest of them. Rewrites reorder nothing that rounds; what they may change is the last
/// bits of a sum, some 1e-6. Whoever means another function is mostly beyond 1e-3.
constexpr double kLargestRelativeError = 1e-4;

struct Comparison {
  double maxAbsolute = 0;
  double maxRelative = 0; ///< maxAbsolute over the largest magnitude of the first program
  int64_t values = 0;     ///< logits compared
  int64_t layers = 0;     ///< in the slice
  /// Where the two first differ by more than rounding, if they do: "what layer 3 leaves of token 1 in value 17: 0.25,
  /// before 0.31".
  std::string first;
};

/// What one pass did.
struct PassChange : Comparison {
  /// If it changed formats: the same with every weight rounded to what its format can hold.
  std::optional<Comparison> rounding;
};

struct SliceOptions {
  uint64_t seed = 1;
  /// Layers to run; empty: the first of every kind of either program.
  std::vector<int64_t> layers;
  KvFormat kv = KvFormat::F32;
};

/// Errors: the two have different numbers of layers or logits (E0456), a logit is not a
/// number (E0457), and the interpreter's.
Result<Comparison> comparePrograms(mlir::ModuleOp before, mlir::ModuleOp after,
                                   WeightProvider &weights, const SliceOptions &options = {});

/// What a slice computes, kept since the program after one pass is the one before the next.
struct SliceLogits {
  /// Rows behind a layer, in the order in which they were computed.
  struct Rows {
    int64_t layer;
    Matrix rows;
  };

  std::vector<int64_t> layers;
  int64_t past = -1;
  std::vector<float> logits;
  std::vector<Rows> carried;
};

/// Checks one pass after the other, on seeded weights:
///   PassChecker checker(module);   // before the first pass
///   … a pass runs …
///   auto change = checker.check(module);   // against the program before that pass
class PassChecker {
public:
  explicit PassChecker(mlir::ModuleOp module, uint64_t seed = 1);
  ~PassChecker();

  /// Compares with the program of the last call. Slices are of both programs' kinds.
  Result<PassChange> check(mlir::ModuleOp module);

  /// The program before the pass that was checked last, and what it left; before the first check both are the
  /// constructor's.
  mlir::ModuleOp before() { return beforeLast ? *beforeLast : *last; }
  mlir::ModuleOp after() { return *last; }
  /// Compares `module` with before().
  Result<Comparison> compare(mlir::ModuleOp module);

private:
  SeededWeights weights;
  SliceOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> last, beforeLast;
  SliceLogits known; ///< of `last`
};

} // namespace ingot::reference
