//===- MatmulScreen.h - The head's second plane, only where it matters -----===//
//
// A greedy step wants the largest logit of each row (MatmulKeys.h). A q8x2 row has two planes of
// codes, x ~ s (q + q'/256): twice the dots for a small correction, which nearly always moves a
// logit that is far below the largest. So a tile walks K with the first plane alone, and those of
// its tokens once more, with both, for which one of the logits could still be the largest so far:
//
//   U = an upper bound by the first plane          one dot of the two
//   U <= most ?                                    then nothing here can win: done
//   V = the sum of both, folded into best, panel   as in every other step: the same bits
//   most = the largest V so far, of this call
//
// No key depends on what is left out, if V <= U always. In a group of 32 k let the weight have the
// scale d and codes w (less the zero point) of at most c, the row the scale s, and p = f32(d s):
//
//   V = sum of p (dot + dot'/256)       dot = sum of w q, dot' = sum of w q'
//   U = sum of p (dot + sign(d) r)      r = c (L'/256 + e (L + L'/256)),  L = sum of |q|, L' of
//   |q'|
//
// In real numbers U - V is at least the sum of |p| (r - |dot'|/256), and |dot'| <= c L': the
// largest that the second plane could add. The rest of r is for f32. s of the second plane is s/256
// exactly, so p is one and the same number on both sides; dots of one plane are below 2^24 and
// exact. What is left is the conversion of V's integer or the addition in U, and G fmas (of Q6_K,
// where each plane has its own and c is 32 times 128, the largest sub-scale, 2 G): an error of each
// sum below (2 G + 2) 2^-24 times the sum of its terms' magnitudes, which are |p| c (L + L'/256)
// and |p| (c L + r). With e = (4 G + 8) 2^-23 r is more than both together, and its own rounding.
//
// r is infinite where s is above 2^64 or NaN (sums might overflow), and below 2^-60 but not 0 (p
// might be no normal number): then the row survives everywhere, as does whatever is not comparable
// and everything as long as there is no largest.
//
// A tie with `most` may be dropped: a call takes its panels in order, so what made `most` has the
// lower id. Rows that pad the last panel have U = 0; they may make it survive, nothing else.
//
// Survivors take both planes one by one, in tiles of one token. Where many survive (the largest
// logits are close together) this would cost more than it saves, so a call keeps an account: a
// token of a tile that is done adds 1, one that survives takes 2; with nothing left, the panels
// that are left take both planes at once. A step of one row waits for memory either way and has
// nothing on its account.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/MatmulTile.h"

namespace ingot::kernel {
class MatmulOp;
}

namespace ingot::cpu {

class PlaneScreen {
  using Value = mlir::Value;

public:
  /// Two planes, integer codes without minimums, and keys of the sums themselves (no epilogue)?
  static bool applies(kernel::MatmulOp op);
  /// Bytes of scratch; 0 where it does not apply.
  static int64_t scratchBytes(kernel::MatmulOp op);

  /// `scratch`: those bytes, aligned to 64.
  PlaneScreen(KernelBuilder &k, const PanelLayout &layout, Value scratch);

  /// Before the first panel, for `rows` rows of x.
  void start(Value x, Value rows);
  /// i1: does it still pay?
  Value asked();
  /// Calls finish(tile of that one token, its row) for each token of the tile that has a logit
  /// which could be the largest. `row`: of the first token.
  void forSurvivors(const Tile &tile, Value row,
                    llvm::function_ref<void(Tile &one, Value row)> finish);
  /// `largest`: of logits of a row, in the order of integers (MatmulKeys::fold).
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

} // namespace ingot::cpu
