//===- matmul.cuh - The arithmetic of a projection --------------------------===//
//
// All kernels share this arithmetic, so their results have the same bits:
//
//   K is split into *parts* of whole blocks, the same for every batch (KParts). The sum of a part
//   starts at 0 and goes through its groups in order of K:
//       dot = Σ (q - zero point) x        mma.sync, f32
//       sum = fma(scale, dot, sum)        and with minimums  sum = fma(minimum, Σx, sum)
//   The parts are added to 0 in order. For a float weight, mma.sync accumulates directly into the sum of the part.
//   Until a part ends, fragments, dots and sums are 1 / F::unit of the values written here, where F::unit is a power of
//   two.
//===----------------------------------------------------------------------===//
#pragma once

#include "formats.cuh"

/// The runs of 64 k that make up a part.
template <class F, i32 K, i32 Parts> struct KParts {
  static constexpr i32 runs = divide_up(K, 64), steps = divide_up(K, 16),
                       blocks = divide_up(K, F::blockK);
  static MEMBER i32 block(i32 part) { return part * blocks / Parts; }
  static MEMBER i32 begin(i32 part) {
    const i32 run = block(part) * F::runsPerBlock;
    return run < runs ? run : runs;
  }
};

/// Sums of the current group: M tiles of 16 rows, N of 8 tokens.
template <class F, i32 M, i32 N, bool = F::isFloat> struct GroupSums {
  float dot[M][N][4] = {};
  float sumOfX[1][N][4] = {}; ///< the same in every row: A is 1 / F::unit everywhere
};
template <class F, i32 M, i32 N> struct GroupSums<F, M, N, true> {};

/// sum += scale * dot + minimum * Σx for group `i` of the run; then resets the group's sums.
template <class F, i32 M, i32 N>
DEVICE void add_group(float (&sum)[M][N][4], GroupSums<F, M, N> &group,
                      const typename F::Run (&run)[M], i32 i) {
  UNROLL
  for (i32 m = 0; m < M; m++) {
    UNROLL
    for (i32 v = 0; v < 4; v++) {
      const float scale = F::scale(run[m], i, v / 2),
                  minimum = F::hasMin ? F::minimum(run[m], i, v / 2) : 0.0f;
      UNROLL
      for (i32 n = 0; n < N; n++) {
        sum[m][n][v] = fma_f32(scale, group.dot[m][n][v], sum[m][n][v]);
        if constexpr (F::hasMin)
          sum[m][n][v] = fma_f32(minimum, group.sumOfX[0][n][v], sum[m][n][v]);
      }
    }
  }
  group = GroupSums<F, M, N>();
}

/// Multiplies one run. `tokens(step, b)` loads the fragments of x. `ends`: this run is the last of the
/// part, or of a group that is longer than a run.
template <class F, i32 M, i32 N, class Tokens>
DEVICE void multiply_run(float (&sum)[M][N][4], GroupSums<F, M, N> &group,
                         const typename F::Run (&run)[M], bool ends, Tokens tokens) {
  UNROLL
  for (i32 step = 0; step < 4; step++) {
    u32 a[M][4], b[N][2];
    tokens(step, b);
    UNROLL
    for (i32 m = 0; m < M; m++)
      F::fragment(a[m], run[m], step);
    if constexpr (F::isFloat) {
      mma_tile(sum, a, b);
      if constexpr (F::split) {
        UNROLL
        for (i32 m = 0; m < M; m++)
          F::rest(a[m], run[m], step);
        mma_tile(sum, a, b);
      }
    } else {
      mma_tile(group.dot, a, b);
      if constexpr (F::hasMin) {
        u32 ones[1][4];
        UNROLL
        for (i32 i = 0; i < 4; i++)
          ones[0][i] = F::unit == 64 ? 0x3c803c80u : 0x3f803f80u;
        mma_tile(group.sumOfX, ones, b);
      }
      if constexpr (F::group <= 64)
        if ((step + 1) * 16 % F::group == 0)
          add_group<F>(sum, group, run, step * 16 / F::group);
    }
  }
  if constexpr (!F::isFloat && F::group > 64)
    if (ends)
      add_group<F>(sum, group, run, 0);
}

/// Returns whether a group ends with run r. `last`: run r is the last of its part.
template <class F> DEVICE bool group_ends(i32 r, bool last) {
  return F::group <= 64 || last || (r + 1) % (F::group / 64) == 0;
}
