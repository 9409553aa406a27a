//===- threads.cuh - Barriers, shuffles and votes --------------------------===//
//
// Warp primitives are for whole warps: every lane must execute them, at the same line.
//===----------------------------------------------------------------------===//
#pragma once

/// Synchronises all threads of the block and orders memory. All threads must reach it at the same line;
/// roles that synchronise at different lines use sync_named.
DEVICE void sync_block() { __syncthreads(); }

/// Named barrier 1…15 of `threads` threads (whole warps). Barrier 0 is sync_block's.
DEVICE void sync_named(u32 id, u32 threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// Arrives at a named barrier without waiting. `threads` counts both arriving and waiting threads.
DEVICE void arrive_named(u32 id, u32 threads) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Synchronises all lanes of the warp and orders memory.
DEVICE void sync_warp() { __syncwarp(); }

/// shfl_xor returns the value of lane own ^ mask, shfl_idx the value of `lane`, shfl_up the value of lane own - delta,
/// and shfl_down the value of lane own + delta. The last two return the lane's own value if there is no such lane. T:
/// float, i32, u32. Shuffles do not order memory.
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
