//===- matrix.cuh - ldmatrix and mma.sync ----------------------------------===//
#pragma once

DEVICE void ldmatrix_x1(u32 (&r)[1], const void *row, INGOT_SITE) {
  emu::switchTo(emu::loadMatrix(r, row, 1, false, site));
}
DEVICE void ldmatrix_x2(u32 (&r)[2], const void *row, INGOT_SITE) {
  emu::switchTo(emu::loadMatrix(r, row, 2, false, site));
}
DEVICE void ldmatrix_x4(u32 (&r)[4], const void *row, INGOT_SITE) {
  emu::switchTo(emu::loadMatrix(r, row, 4, false, site));
}
DEVICE void ldmatrix_x1_trans(u32 (&r)[1], const void *row, INGOT_SITE) {
  emu::switchTo(emu::loadMatrix(r, row, 1, true, site));
}
DEVICE void ldmatrix_x2_trans(u32 (&r)[2], const void *row, INGOT_SITE) {
  emu::switchTo(emu::loadMatrix(r, row, 2, true, site));
}
DEVICE void ldmatrix_x4_trans(u32 (&r)[4], const void *row, INGOT_SITE) {
  emu::switchTo(emu::loadMatrix(r, row, 4, true, site));
}

DEVICE void mma_bf16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2], INGOT_SITE) {
  emu::switchTo(emu::multiply(emu::Product::Bf16, d, a, b, 1, 1, site));
}
DEVICE void mma_f16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2], INGOT_SITE) {
  emu::switchTo(emu::multiply(emu::Product::F16, d, a, b, 1, 1, site));
}
DEVICE void mma_s8(i32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2], INGOT_SITE) {
  emu::switchTo(emu::multiply(emu::Product::S8, d, a, b, 1, 1, site));
}
#if DEVICE_HAS_E4M3
DEVICE void mma_e4m3(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2], INGOT_SITE) {
  emu::switchTo(emu::multiply(emu::Product::E4M3, d, a, b, 1, 1, site));
}
#endif

enum class Mma { bf16, f16, s8, e4m3 };

template <Mma Kind = Mma::bf16, int M, int N, class T>
DEVICE void mma_tile(T (&d)[M][N][4], const u32 (&a)[M][4], const u32 (&b)[N][2], INGOT_SITE) {
  static_assert(M <= 8 && N <= 32, "the emulator's buffers");
  static_assert(__is_same(T, float) != (Kind == Mma::s8), "s8 sums in i32, all else in float");
  static_assert(Kind != Mma::e4m3 || DEVICE_HAS_E4M3, "fp8 needs sm_89");
  emu::switchTo(
      emu::multiply((emu::Product)(u32)Kind, &d[0][0][0], &a[0][0], &b[0][0], M, N, site));
}
