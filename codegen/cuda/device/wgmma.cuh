//===- wgmma.cuh - Products of a warpgroup (sm_90a) -------------------------===//
//
// Four consecutive warps compute D[64][N] += A[64][16] B[16][N] of 16-bit values, or A[64][32] B[32][N]
// of E4M3, with f32 sums. The index of the first warp is a multiple of 4. With g = l / 4 and c = l % 4,
// lane l of warp w of the four holds
//
//   d[4j + 0] D(16w + g, 8j + 2c)      d[4j + 2] D(16w + g + 8, 8j + 2c)        j = 0 … N/8 - 1
//   d[4j + 1] D(16w + g, 8j + 2c + 1)  d[4j + 3] D(16w + g + 8, 8j + 2c + 1)
//
// and, if A comes from registers, the A fragment of mma.m16n8k16 (m16n8k32) of its 16 rows. A tile in
// shared memory is K-major: its rows (of M, or of N) have 64 values (128 of E4M3) = 128 bytes and are
// swizzled (swizzle.cuh); eight rows take 1024 bytes. Each step is 32 bytes further along the row.
//
// A kernel declares the N that it uses at its top, for example USE_WGMMA(64). Instances for all 32
// values of N would double the time of every compilation.
//
//   wgmma_fence();       // after writes to d, to A's registers, to shared memory
//   for (int k = 0; k < 4; k++)
//     wgmma_ss<64>(d, wgmma_descriptor(a + 32 * k), wgmma_descriptor(b + 32 * k));
//   wgmma_commit();
//   wgmma_wait<0>();     // until here neither d nor A's registers may be accessed
//===----------------------------------------------------------------------===//
#pragma once

#if DEVICE_HAS_WGMMA
/// Start address in units of 16 bytes, 1024 bytes between groups of eight rows, 128-byte swizzle.
DEVICE u64 wgmma_descriptor(const void *tile) {
  return (u64)((shared_address(tile) & 0x3ffffu) >> 4) | (1ull << 16) | (64ull << 32) |
         (1ull << 62);
}
DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Returns when at most `Left` groups are in flight.
template <int Left> DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
}

enum class Wgmma { bf16, f16, e4m3 };
template <int N, Wgmma Kind> struct WgmmaShape;

// Register lists of N / 2 sums, each defined in terms of the previous one.
#define WGMMA_TEXT_8 "%0, %1, %2, %3"
#define WGMMA_SUMS_8(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define WGMMA_TEXT_16 WGMMA_TEXT_8 ", %4, %5, %6, %7"
#define WGMMA_SUMS_16(d) WGMMA_SUMS_8(d), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define WGMMA_TEXT_24 WGMMA_TEXT_16 ", %8, %9, %10, %11"
#define WGMMA_SUMS_24(d) WGMMA_SUMS_16(d), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define WGMMA_TEXT_32 WGMMA_TEXT_24 ", %12, %13, %14, %15"
#define WGMMA_SUMS_32(d) WGMMA_SUMS_24(d), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define WGMMA_TEXT_40 WGMMA_TEXT_32 ", %16, %17, %18, %19"
#define WGMMA_SUMS_40(d) WGMMA_SUMS_32(d), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define WGMMA_TEXT_48 WGMMA_TEXT_40 ", %20, %21, %22, %23"
#define WGMMA_SUMS_48(d) WGMMA_SUMS_40(d), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define WGMMA_TEXT_56 WGMMA_TEXT_48 ", %24, %25, %26, %27"
#define WGMMA_SUMS_56(d) WGMMA_SUMS_48(d), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define WGMMA_TEXT_64 WGMMA_TEXT_56 ", %28, %29, %30, %31"
#define WGMMA_SUMS_64(d) WGMMA_SUMS_56(d), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define WGMMA_TEXT_72 WGMMA_TEXT_64 ", %32, %33, %34, %35"
#define WGMMA_SUMS_72(d) WGMMA_SUMS_64(d), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define WGMMA_TEXT_80 WGMMA_TEXT_72 ", %36, %37, %38, %39"
#define WGMMA_SUMS_80(d) WGMMA_SUMS_72(d), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define WGMMA_TEXT_88 WGMMA_TEXT_80 ", %40, %41, %42, %43"
#define WGMMA_SUMS_88(d) WGMMA_SUMS_80(d), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
#define WGMMA_TEXT_96 WGMMA_TEXT_88 ", %44, %45, %46, %47"
#define WGMMA_SUMS_96(d) WGMMA_SUMS_88(d), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define WGMMA_TEXT_104 WGMMA_TEXT_96 ", %48, %49, %50, %51"
#define WGMMA_SUMS_104(d) WGMMA_SUMS_96(d), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
#define WGMMA_TEXT_112 WGMMA_TEXT_104 ", %52, %53, %54, %55"
#define WGMMA_SUMS_112(d) WGMMA_SUMS_104(d), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define WGMMA_TEXT_120 WGMMA_TEXT_112 ", %56, %57, %58, %59"
#define WGMMA_SUMS_120(d) WGMMA_SUMS_112(d), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
#define WGMMA_TEXT_128 WGMMA_TEXT_120 ", %60, %61, %62, %63"
#define WGMMA_SUMS_128(d) WGMMA_SUMS_120(d), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define WGMMA_TEXT_136 WGMMA_TEXT_128 ", %64, %65, %66, %67"
#define WGMMA_SUMS_136(d) WGMMA_SUMS_128(d), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
#define WGMMA_TEXT_144 WGMMA_TEXT_136 ", %68, %69, %70, %71"
#define WGMMA_SUMS_144(d) WGMMA_SUMS_136(d), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define WGMMA_TEXT_152 WGMMA_TEXT_144 ", %72, %73, %74, %75"
#define WGMMA_SUMS_152(d) WGMMA_SUMS_144(d), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75])
#define WGMMA_TEXT_160 WGMMA_TEXT_152 ", %76, %77, %78, %79"
#define WGMMA_SUMS_160(d) WGMMA_SUMS_152(d), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define WGMMA_TEXT_168 WGMMA_TEXT_160 ", %80, %81, %82, %83"
#define WGMMA_SUMS_168(d) WGMMA_SUMS_160(d), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83])
#define WGMMA_TEXT_176 WGMMA_TEXT_168 ", %84, %85, %86, %87"
#define WGMMA_SUMS_176(d) WGMMA_SUMS_168(d), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define WGMMA_TEXT_184 WGMMA_TEXT_176 ", %88, %89, %90, %91"
#define WGMMA_SUMS_184(d) WGMMA_SUMS_176(d), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91])
#define WGMMA_TEXT_192 WGMMA_TEXT_184 ", %92, %93, %94, %95"
#define WGMMA_SUMS_192(d) WGMMA_SUMS_184(d), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define WGMMA_TEXT_200 WGMMA_TEXT_192 ", %96, %97, %98, %99"
#define WGMMA_SUMS_200(d) WGMMA_SUMS_192(d), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99])
#define WGMMA_TEXT_208 WGMMA_TEXT_200 ", %100, %101, %102, %103"
#define WGMMA_SUMS_208(d) WGMMA_SUMS_200(d), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define WGMMA_TEXT_216 WGMMA_TEXT_208 ", %104, %105, %106, %107"
#define WGMMA_SUMS_216(d) WGMMA_SUMS_208(d), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107])
#define WGMMA_TEXT_224 WGMMA_TEXT_216 ", %108, %109, %110, %111"
#define WGMMA_SUMS_224(d) WGMMA_SUMS_216(d), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define WGMMA_TEXT_232 WGMMA_TEXT_224 ", %112, %113, %114, %115"
#define WGMMA_SUMS_232(d) WGMMA_SUMS_224(d), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115])
#define WGMMA_TEXT_240 WGMMA_TEXT_232 ", %116, %117, %118, %119"
#define WGMMA_SUMS_240(d) WGMMA_SUMS_232(d), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define WGMMA_TEXT_248 WGMMA_TEXT_240 ", %120, %121, %122, %123"
#define WGMMA_SUMS_248(d) WGMMA_SUMS_240(d), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123])
#define WGMMA_TEXT_256 WGMMA_TEXT_248 ", %124, %125, %126, %127"
#define WGMMA_SUMS_256(d) WGMMA_SUMS_248(d), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

// p0 … p5 are the asm operand indices (%N) that follow the sums (WGMMA_AFTER_n). `more_s`,
// `more_r`: the transpose immediates, which only 16-bit types have.
#define WGMMA_KIND_(n, kind, type, more_s, more_r, p0, p1, p2, p3, p4, p5)                         \
  template <> struct WgmmaShape<n, Wgmma::kind> {                                                  \
    static DEVICE void shared(float (&d)[n / 2], u64 a, u64 b, u32 accumulate) {                   \
      asm volatile("{.reg .pred p; setp.ne.b32 p, %" #p2                                           \
                   ", 0; wgmma.mma_async.sync.aligned.m64n" #n type " {" WGMMA_TEXT_##n            \
                   "}, %" #p0 ", %" #p1 ", p, 1, 1" more_s ";}"                                    \
                   : WGMMA_SUMS_##n(d)                                                             \
                   : "l"(a), "l"(b), "r"(accumulate));                                             \
    }                                                                                              \
    static DEVICE void registers(float (&d)[n / 2], const u32 (&a)[4], u64 b, u32 accumulate) {    \
      asm volatile("{.reg .pred p; setp.ne.b32 p, %" #p5                                           \
                   ", 0; wgmma.mma_async.sync.aligned.m64n" #n type " {" WGMMA_TEXT_##n            \
                   "}, {%" #p0 ", %" #p1 ", %" #p2 ", %" #p3 "}, %" #p4 ", p, 1, 1" more_r ";}"    \
                   : WGMMA_SUMS_##n(d)                                                             \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));         \
    }                                                                                              \
  };
#define WGMMA_KIND(...) WGMMA_KIND_(__VA_ARGS__)
#define WGMMA_KINDS(n, ...)                                                                        \
  WGMMA_KIND(n, bf16, "k16.f32.bf16.bf16", ", 0, 0", ", 0", __VA_ARGS__)                           \
  WGMMA_KIND(n, f16, "k16.f32.f16.f16", ", 0, 0", ", 0", __VA_ARGS__)                              \
  WGMMA_KIND(n, e4m3, "k32.f32.e4m3.e4m3", "", "", __VA_ARGS__)
#define USE_WGMMA(n) WGMMA_KINDS(n, WGMMA_AFTER_##n)
#define WGMMA_AFTER_8 4, 5, 6, 7, 8, 9
#define WGMMA_AFTER_16 8, 9, 10, 11, 12, 13
#define WGMMA_AFTER_24 12, 13, 14, 15, 16, 17
#define WGMMA_AFTER_32 16, 17, 18, 19, 20, 21
#define WGMMA_AFTER_40 20, 21, 22, 23, 24, 25
#define WGMMA_AFTER_48 24, 25, 26, 27, 28, 29
#define WGMMA_AFTER_56 28, 29, 30, 31, 32, 33
#define WGMMA_AFTER_64 32, 33, 34, 35, 36, 37
#define WGMMA_AFTER_72 36, 37, 38, 39, 40, 41
#define WGMMA_AFTER_80 40, 41, 42, 43, 44, 45
#define WGMMA_AFTER_88 44, 45, 46, 47, 48, 49
#define WGMMA_AFTER_96 48, 49, 50, 51, 52, 53
#define WGMMA_AFTER_104 52, 53, 54, 55, 56, 57
#define WGMMA_AFTER_112 56, 57, 58, 59, 60, 61
#define WGMMA_AFTER_120 60, 61, 62, 63, 64, 65
#define WGMMA_AFTER_128 64, 65, 66, 67, 68, 69
#define WGMMA_AFTER_136 68, 69, 70, 71, 72, 73
#define WGMMA_AFTER_144 72, 73, 74, 75, 76, 77
#define WGMMA_AFTER_152 76, 77, 78, 79, 80, 81
#define WGMMA_AFTER_160 80, 81, 82, 83, 84, 85
#define WGMMA_AFTER_168 84, 85, 86, 87, 88, 89
#define WGMMA_AFTER_176 88, 89, 90, 91, 92, 93
#define WGMMA_AFTER_184 92, 93, 94, 95, 96, 97
#define WGMMA_AFTER_192 96, 97, 98, 99, 100, 101
#define WGMMA_AFTER_200 100, 101, 102, 103, 104, 105
#define WGMMA_AFTER_208 104, 105, 106, 107, 108, 109
#define WGMMA_AFTER_216 108, 109, 110, 111, 112, 113
#define WGMMA_AFTER_224 112, 113, 114, 115, 116, 117
#define WGMMA_AFTER_232 116, 117, 118, 119, 120, 121
#define WGMMA_AFTER_240 120, 121, 122, 123, 124, 125
#define WGMMA_AFTER_248 124, 125, 126, 127, 128, 129
#define WGMMA_AFTER_256 128, 129, 130, 131, 132, 133

/// Issues one wgmma of 16 k (32 for E4M3). With accumulate = false, sums start from 0.
template <int N, Wgmma Kind = Wgmma::bf16>
DEVICE void wgmma_ss(float (&d)[N / 2], u64 a, u64 b, bool accumulate = true) {
  WgmmaShape<N, Kind>::shared(d, a, b, accumulate);
}
/// A from registers: the fragment of mma.m16n8k16 (m16n8k32) of the warp's rows.
template <int N, Wgmma Kind = Wgmma::bf16>
DEVICE void wgmma_rs(float (&d)[N / 2], const u32 (&a)[4], u64 b, bool accumulate = true) {
  WgmmaShape<N, Kind>::registers(d, a, b, accumulate);
}
#endif
