//===- wgmma.cuh - Products of a warpgroup (sm_90a) -------------------------===//
#pragma once

#if DEVICE_HAS_WGMMA
#define USE_WGMMA(n)

DEVICE u64 wgmma_descriptor(const void *tile, INGOT_SITE) {
  return emu::wgmmaDescriptor(tile, site);
}
DEVICE void wgmma_fence(INGOT_SITE) { emu::wgmmaFence(site); }
DEVICE void wgmma_commit() { emu::wgmmaCommit(); }
template <int Left> DEVICE void wgmma_wait(INGOT_SITE) {
  emu::switchTo(emu::wgmmaWait(Left, site));
}

enum class Wgmma { bf16, f16, e4m3 = 3 }; // numbered as in emu::Product

template <int N, Wgmma Kind = Wgmma::bf16>
DEVICE void wgmma_ss(float (&d)[N / 2], u64 a, u64 b, bool accumulate = true, INGOT_SITE) {
  static_assert(N % 8 == 0 && N >= 8 && N <= 256, "8, 16, … 256");
  emu::wgmma((emu::Product)(u32)Kind, d, nullptr, a, b, N, accumulate, site);
}
template <int N, Wgmma Kind = Wgmma::bf16>
DEVICE void wgmma_rs(float (&d)[N / 2], const u32 (&a)[4], u64 b, bool accumulate = true,
                     INGOT_SITE) {
  static_assert(N % 8 == 0 && N >= 8 && N <= 256, "8, 16, … 256");
  emu::wgmma((emu::Product)(u32)Kind, d, a, 0, b, N, accumulate, site);
}
#endif
