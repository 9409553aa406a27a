//===- reduce.cuh - Reductions over a warp, in one fixed order -------------===//
//
// A butterfly of shuffles at distances First, First / 2, … Last: at every step a lane adds the value
// of lane ^ distance to its own. All participating lanes end with the same bits, since a + b == b + a.
//
//   <16, 1>  the warp        <2, 1>  the four lanes of a quad (one row of an mma accumulator)
//   <16, 4>  lanes with equal l % 4 (one column of an accumulator)
//
// The emulator does a whole butterfly in one warp-synchronous operation: same order, same bits.
//===----------------------------------------------------------------------===//
#pragma once

#ifdef __CUDACC__
template <int First = 16, int Last = 1> DEVICE float warp_sum(float value) {
  UNROLL
  for (int distance = First; distance >= Last; distance >>= 1)
    value += shfl_xor(value, distance);
  return value;
}
template <int First = 16, int Last = 1> DEVICE i32 warp_sum(i32 value) {
  UNROLL
  for (int distance = First; distance >= Last; distance >>= 1)
    value += shfl_xor(value, distance);
  return value;
}
template <int First = 16, int Last = 1> DEVICE float warp_max(float value) {
  UNROLL
  for (int distance = First; distance >= Last; distance >>= 1)
    value = fmaxf(value, shfl_xor(value, distance));
  return value;
}
template <int First = 16, int Last = 1> DEVICE i32 warp_max(i32 value) {
  UNROLL
  for (int distance = First; distance >= Last; distance >>= 1)
    value = max(value, shfl_xor(value, distance));
  return value;
}
#endif
