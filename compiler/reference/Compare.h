//===- Compare.h - Checks that a pass preserves semantics -----------------===//
//
// Two programs run on a small slice: one layer of each kind and two sequences, one of which has a past longer
// than the windows. The first step has a few tokens. The second step has one token of each sequence and reads the keys
// and values that the first step wrote.
//
// A pass that changes weight formats is checked with unrounded values, on which it must not change the results. The
// error of rounding is measured separately.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Interpreter.h"

#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace ingot::reference {

/// Bound on the difference of logits, relative to the largest logit. A correct rewrite does not reorder rounded
/// operations and changes only the last bits of a sum, about 1e-6. A rewrite that computes another function causes a
/// difference of more than 1e-3 in most cases.
constexpr double kLargestRelativeError = 1e-4;

struct Comparison {
  double maxAbsolute = 0;
  double maxRelative = 0; ///< maxAbsolute divided by the largest magnitude in the first program
  int64_t values = 0;     ///< number of logits compared
  int64_t layers = 0;     ///< number of layers in the slice
  /// The first place where the programs differ by more than rounding, or empty: "the output of layer 3 of token 1 in
  /// value 17: 0.25, before 0.31".
  std::string first;
};

/// The effect of one pass.
struct PassChange : Comparison {
  /// Set if the pass changed formats: the comparison with every weight rounded to its format.
  std::optional<Comparison> rounding;
};

struct SliceOptions {
  uint64_t seed = 1;
  /// Layers to run; empty: the first of every kind of either program.
  std::vector<int64_t> layers;
  KvFormat kv = KvFormat::F32;
};

/// Compares the logits of two programs. Errors: E0456: the programs have different numbers of layers or logits; E0457:
/// a logit is NaN or infinite; all errors of the interpreter.
Result<Comparison> comparePrograms(mlir::ModuleOp before, mlir::ModuleOp after,
                                   WeightProvider &weights, const SliceOptions &options = {});

/// The results of a slice, kept because the program after one pass is the program before the next.
struct SliceLogits {
  /// Rows after a layer, in order of computation.
  struct Rows {
    int64_t layer;
    Matrix rows;
  };

  std::vector<int64_t> layers;
  int64_t past = -1;
  std::vector<float> logits;
  std::vector<Rows> carried;
};

/// Checks passes one by one, on generated weights:
///   PassChecker checker(module);   // before the first pass
///   … a pass runs …
///   auto change = checker.check(module);   // against the program before that pass
class PassChecker {
public:
  explicit PassChecker(mlir::ModuleOp module, uint64_t seed = 1);
  ~PassChecker();

  /// Compares `module` with the program of the previous call. The slice covers the layer kinds of both programs.
  Result<PassChange> check(mlir::ModuleOp module);

  /// Returns the programs before and after the last checked pass; before the first check, both are the constructor's
  /// module.
  mlir::ModuleOp before() { return beforeLast ? *beforeLast : *last; }
  mlir::ModuleOp after() { return *last; }
  /// Compares `module` with before().
  Result<Comparison> compare(mlir::ModuleOp module);

private:
  SeededWeights weights;
  SliceOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> last, beforeLast;
  SliceLogits known; ///< results of `last`
};

} // namespace ingot::reference
