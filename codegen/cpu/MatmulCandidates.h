//===- MatmulCandidates.h - Candidate filter of a greedy head -------------===//
//
// A greedy step needs the largest logit of each row (MatmulKeys.h). A q8x2 row has two planes of
// codes, x ~ s (q + q'/256). The second plane doubles the number of dot instructions for a small correction, nearly
// always to a logit that is far below the largest. A tile therefore walks K with only the first plane, and again with
// both planes only for tokens with a logit that could still be the largest:
//
//   U = an upper bound by the first plane          one of two dot products
//   U <= most ?                                    then no logit here can win: done
//   V = the sum of both, folded into best, panel   as in every other step: the same bits
//   most = the largest V of this call so far
//
// No key depends on the skipped sums if V <= U always holds. In a group of 32 k let the weight have the
// scale d and codes w (less the zero point) of at most c, let the row have the scale s, and p = f32(d s):
//
//   V = sum of p (dot + dot'/256)       dot = sum of w q, dot' = sum of w q'
//   U = sum of p (dot + sign(d) r)      r = c (L'/256 + e (L + L'/256)),
//                                       L = sum of |q|, L' = sum of |q'|
//
// In exact arithmetic U - V is at least the sum of |p| (r - |dot'|/256), and |dot'| <= c L', the largest amount that
// the second plane could add. The rest of r covers f32 rounding. s of the second plane is exactly s/256, so p is the
// same number on both sides. Dots of one plane are below 2^24 and exact. Two sources of error remain: the conversion of
// V's integer or the addition in U, and G fmas (2 G for Q6_K, where each plane has its own fma and c is 32 times 128,
// the largest sub-scale). The error of each sum is below (2 G + 2) 2^-24 times the sum of its terms' magnitudes, which
// are |p| c (L + L'/256) and |p| (c L + r). With e = (4 G + 8) 2^-23, r exceeds both errors together and its own
// rounding.
//
// r is infinite if s is above 2^64 or NaN (sums might overflow), and if s is below 2^-60 but not 0 (p
// might be subnormal). Such a row survives everywhere. Values that do not compare (NaN) survive, and so
// does every value as long as no largest logit is known.
//
// A tie with `most` may be dropped: a call takes its panels in order, so the logit that set `most` has
// the lower id. Rows that pad the last panel have U = 0. They may make a token survive, but they have
// no other effect.
//
// Survivors take both planes one by one, in tiles of one token. If many survive (because the largest
// logits are close together), this would cost more than it saves. A call therefore keeps a credit
// counter: a token that does not survive adds 1, a survivor subtracts 2. Once the credit is used up,
// the remaining panels take both planes at once. A step of one row is bound by memory in either case
// and starts without credit.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/MatmulTile.h"

namespace ingot::kernel {
class MatmulOp;
}

namespace ingot::codegen::cpu {

class CandidateFilter {
  using Value = mlir::Value;

public:
  /// Returns whether the op has two planes, integer codes without minimums, and keys of the sums themselves
  /// (no epilogue).
  static bool applies(kernel::MatmulOp op);
  /// Returns the size in bytes of scratch; 0 if the filter does not apply.
  static int64_t scratchBytes(kernel::MatmulOp op);

  /// `scratch` has scratchBytes(), aligned to 64.
  CandidateFilter(KernelBuilder &k, const PanelLayout &layout, Value scratch);

  /// Initialises the scratch for `rows` rows of x, before the first panel.
  void start(Value x, Value rows);
  /// Returns an i1: whether there is credit left, so that the next panel should be filtered.
  Value asked();
  /// Calls finish(tile of that one token, its row) for each token of the tile with a logit that
  /// could be the largest. `row`: the row of the first token.
  void forSurvivors(const Tile &tile, Value row,
                    llvm::function_ref<void(Tile &one, Value row)> finish);
  /// Raises `most` of a row. `largest`: the largest of some logits, in integer order (MatmulKeys::fold).
  void raise(Value largest, Value row);

private:
  Value survivors(llvm::ArrayRef<Value> sums, int tokens, Value row);
  Value mostAt(Value row);
  Value slackAt(Value row);

  KernelBuilder &k;
  const PanelLayout layout;
  const Q8Row q8;
  Value scratch;
};

} // namespace ingot::codegen::cpu
