//===- threads.cuh - Barriers, shuffles and votes --------------------------===//
//
// Warp words are for whole warps: every lane must come, at the same line.
//===----------------------------------------------------------------------===//
#pragma once

/// All threads of the block; memory is ordered. One line for all: roles that meet apart use
/// sync_named.
DEVICE void sync_block() { __syncthreads(); }

/// Named barrier 1…15 of `threads` threads (whole warps). Barrier 0 is sync_block's.
DEVICE void sync_named(u32 id, u32 threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// Comes to a named barrier without waiting: `threads` counts those who arrive and those who wait.
DEVICE void arrive_named(u32 id, u32 threads) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// All lanes; memory is ordered.
DEVICE void sync_warp() { __syncwarp(); }

/// The value of lane (own ^ mask), of `lane`, of own - delta, of own + delta; the last two give
/// the own value where there is no such lane. T: float, i32, u32. They order no memory.
template <class T> DEVICE T shfl_xor(T value, u32 mask) {
  return __shfl_xor_sync(~0u, value, mask);
}
template <class T> DEVICE T shfl_idx(T value, u32 lane) { return __shfl_sync(~0u, value, lane); }
template <class T> DEVICE T shfl_up(T value, u32 delta) {
  return __shfl_up_sync(~0u, value, delta);
}
template <class T> DEVICE T shfl_down(T value, u32 delta) {
  return __shfl_down_sync(~0u, value, delta);
}

DEVICE u32 warp_ballot(bool value) { return __ballot_sync(~0u, value); }
DEVICE bool warp_any(bool value) { return __any_sync(~0u, value); }
DEVICE bool warp_all(bool value) { return __all_sync(~0u, value); }
