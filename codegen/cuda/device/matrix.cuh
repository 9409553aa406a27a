//===- matrix.cuh - ldmatrix and mma.sync ----------------------------------===//
//
// D[16][8] += A[16][K] B[K][8] over a warp. With g = l / 4 and c = l % 4, lane l holds:
//
//   16-bit, K = 16   a[0] A(g, 2c), A(g, 2c+1)        b[0] B(2c, g), B(2c+1, g)
//                    a[1] A(g+8, 2c…)                 b[1] B(2c+8, g), B(2c+9, g)
//                    a[2] A(g, 2c+8…)
//                    a[3] A(g+8, 2c+8…)               d[0] D(g, 2c)    d[1] D(g, 2c+1)
//   8-bit, K = 32    the same with 4c…4c+3 and +16    d[2] D(g+8, 2c)  d[3] D(g+8, 2c+1)
//
// Here A is a weight (16 rows) and B the tokens (8 columns).
//===----------------------------------------------------------------------===//
#pragma once

/// Loads matrix i of 8x8 16-bit values into register i. Its row r is read from the address that lane
/// 8i + r passes (16-byte aligned). Lane l gets value (l / 4, 2 (l % 4)) and the next one in the row. With
/// `trans`, it gets these values of the transposed matrix. x1 and x2 use only the addresses of lanes 0…7
/// and 0…15.
DEVICE void ldmatrix_x1(u32 (&r)[1], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(shared_address(row))
               : "memory");
}
DEVICE void ldmatrix_x2(u32 (&r)[2], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}
DEVICE void ldmatrix_x4(u32 (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
DEVICE void ldmatrix_x1_trans(u32 (&r)[1], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(shared_address(row))
               : "memory");
}
DEVICE void ldmatrix_x2_trans(u32 (&r)[2], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}
DEVICE void ldmatrix_x4_trans(u32 (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

#define INGOT_MMA(name, shape, types, T, letter)                                                   \
  DEVICE void name(T(&d)[4], const u32(&a)[4], const u32(&b)[2]) {                                 \
    asm volatile("mma.sync.aligned." shape ".row.col." types                                       \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "                                 \
                 "{%0, %1, %2, %3};"                                                               \
                 : "+" letter(d[0]), "+" letter(d[1]), "+" letter(d[2]), "+" letter(d[3])          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));              \
  }
INGOT_MMA(mma_bf16, "m16n8k16", "f32.bf16.bf16.f32", float, "f")
INGOT_MMA(mma_f16, "m16n8k16", "f32.f16.f16.f32", float, "f")
INGOT_MMA(mma_s8, "m16n8k32", "s32.s8.s8.s32", i32, "r")
#if DEVICE_HAS_E4M3
INGOT_MMA(mma_e4m3, "m16n8k32", "f32.e4m3.e4m3.f32", float, "f")
#endif
#undef INGOT_MMA

/// The operand type of an MMA.
enum class Mma { bf16, f16, s8, e4m3 };

/// Computes M x N MMAs of one step of K. Prefer it to single MMAs, because the emulator computes all of them in one
/// warp-synchronous operation.
template <Mma Kind = Mma::bf16, int M, int N, class T>
DEVICE void mma_tile(T (&d)[M][N][4], const u32 (&a)[M][4], const u32 (&b)[N][2]) {
  UNROLL
  for (int i = 0; i < M; i++)
    UNROLL
  for (int j = 0; j < N; j++) {
    if constexpr (Kind == Mma::bf16)
      mma_bf16(d[i][j], a[i], b[j]);
    else if constexpr (Kind == Mma::f16)
      mma_f16(d[i][j], a[i], b[j]);
    else if constexpr (Kind == Mma::s8)
      mma_s8(d[i][j], a[i], b[j]);
#if DEVICE_HAS_E4M3
    else
      mma_e4m3(d[i][j], a[i], b[j]);
#endif
  }
}
