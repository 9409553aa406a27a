//===- formats.cuh - Weights as tensor cores take them ----------------------===//
//
// The stream of a tile of 16 rows (runtime/formats/FragmentLayout.h), a *run* of 64 k at a time:
//
//   F::Run run;
//   F::load(run, tile, r, steps);         run r of the tile to registers: codes and scales
//   F::fragment(a, run, step);            A of mma.m16n8k16 in bf16, exact
//   F::scale(run, group, half)            f32, of the lane's rows l / 4 (half 0) and l / 4 + 8
//   (half 1) F::minimum(run, group, half)          what a group adds per unit of Σx (hasMin)
//   F::value(weight, tileBytes, n, k)     one weight by the formula of NumericFormat.h (gather)
//
// A code of up to 7 bits becomes a bf16 by two logic operations: the exponent of 128 is put above
// it, and as bf16 has 7 bits of mantissa this *is* 128 + code. Subtracting 128 + zero point is
// exact, and is done for pairs.
//
//   word of a lane (4 bits)   p7 p3 …          (word >> 4j) & 000f000f | 43004300  =  128 + q of
//   both values of pair j
//===----------------------------------------------------------------------===//
#pragma once

#include "batch.cuh"

/// Codes with scales. Group: values of K under one (sub-)scale; Super: integer sub-scales under one
/// f16 per 256.
template <i32 Bits, i32 Group, i32 ZeroPoint, bool HasMin, bool Super> struct CodeFormat {
  static constexpr bool isFloat = false, hasMin = HasMin;
  static constexpr i32 group = Group;
  static constexpr i32 blockK = Super ? 256 : Group > 64 ? Group : 64;
  static constexpr i32 runsPerBlock = blockK / 64;
  static constexpr i32 runBytes = 128 * Bits;
  static constexpr i32 scales = Super ? 1 : blockK / Group; ///< f16 per row of a block
  static constexpr i32 scaleOffset = runsPerBlock * runBytes;
  static constexpr i32 minOffset = scaleOffset + 32 * scales;
  static constexpr i32 subScaleOffset = minOffset + (HasMin ? 32 * scales : 0);
  static constexpr i32 subMinOffset = subScaleOffset + (Super ? 256 / Group * 16 : 0);
  static constexpr i32 blockBytes =
      round_up(subMinOffset + (Super && HasMin ? 256 / Group * 16 : 0), 64);
  static constexpr i32 runGroups = Group >= 64 ? 1 : 64 / Group; ///< groups that a run touches
  static constexpr i32 runScales = Super ? 1 : runGroups;
  static constexpr i32 words = Bits; ///< 32-bit words of codes, per lane and run
  /// Registers of a run, about.
  static constexpr i32 registers =
      words + (HasMin ? 4 : 2) * runScales + (Super ? (HasMin ? 4 : 2) * runGroups : 0);

  static constexpr i64 tileBytes(i32 k) { return (i64)divide_up(k, blockK) * blockBytes; }

  struct Run {
    u32 code[words];
    u16 d[runScales][2], m[runScales][2];
    u8 s[runGroups][2], t[runGroups][2];
  };

  static MEMBER void load(Run &run, const u8 *tile, i32 r, i32) {
    const i32 lane = threadIdx.x % 32, in = r % runsPerBlock;
    const u8 *block = tile + (i64)(r / runsPerBlock) * blockBytes, *codes = block + in * runBytes;
    const uint4 first = ld_stream((const uint4 *)(codes + lane * 16));
    run.code[0] = first.x, run.code[1] = first.y, run.code[2] = first.z, run.code[3] = first.w;
    if constexpr (Bits == 5) {
      run.code[4] = ld_stream((const u32 *)(codes + 512 + lane * 4));
    } else if constexpr (Bits == 6) {
      const uint2 upper = ld_stream((const uint2 *)(codes + 512 + lane * 8));
      run.code[4] = upper.x, run.code[5] = upper.y;
    } else if constexpr (Bits == 8) {
      const uint4 second = ld_stream((const uint4 *)(codes + 512 + lane * 16));
      run.code[4] = second.x, run.code[5] = second.y, run.code[6] = second.z,
      run.code[7] = second.w;
    }
    UNROLL
    for (i32 half = 0; half < 2; half++) {
      const i32 row = lane / 4 + 8 * half;
      UNROLL
      for (i32 i = 0; i < runScales; i++) {
        const i32 at = Super ? 0 : in * 64 / Group + i;
        run.d[i][half] = *(const u16 *)(block + scaleOffset + 2 * (16 * at + row));
        if constexpr (HasMin)
          run.m[i][half] = *(const u16 *)(block + minOffset + 2 * (16 * at + row));
      }
      if constexpr (Super) {
        UNROLL
        for (i32 i = 0; i < runGroups; i++) {
          run.s[i][half] = block[subScaleOffset + 16 * (in * runGroups + i) + row];
          if constexpr (HasMin)
            run.t[i][half] = block[subMinOffset + 16 * (in * runGroups + i) + row];
        }
      }
    }
  }

  static MEMBER void fragment(u32 (&a)[4], const Run &run, i32 step) {
    constexpr u32 both = 0x00010001u, magic = 0x4300 * both,
                  back = (0xc300 | ZeroPoint % 128) * both;
    UNROLL
    for (i32 j = 0; j < 4; j++) {
      if constexpr (Bits == 8) { // 7 bits as below; the eighth says which of -128 and -256 goes off
        const u32 q = run.code[2 * step + j / 2] >> (8 * (j % 2));
        a[j] = bf16x2_add(mask_or(q, 0x7f * both, magic), mask_or(~q, 0x80 * both, 0xc300 * both));
        continue;
      }
      u32 q = mask_or(run.code[step] >> (4 * j), 0xf * both, magic);
      if constexpr (Bits == 5) {
        const i32 from = 4 * step + j;
        q = mask_or(from < 4 ? run.code[4] << (4 - from) : run.code[4] >> (from - 4), 0x10 * both,
                    q);
      } else if constexpr (Bits == 6) {
        const i32 from = 8 * (step % 2) + 2 * j;
        const u32 upper = run.code[4 + step / 2];
        q = mask_or(from < 4 ? upper << (4 - from) : upper >> (from - 4), 0x30 * both, q);
      }
      a[j] = bf16x2_add(q, back);
    }
  }

  static MEMBER float scale(const Run &run, i32 i, i32 half) {
    if constexpr (!Super)
      return f16_to_f32(run.d[i][half]);
    else
      return f16_to_f32(run.d[0][half]) *
             (HasMin ? (float)run.s[i][half] : (float)(i8)run.s[i][half]);
  }
  static MEMBER float minimum(const Run &run, i32 i, i32 half) {
    if constexpr (!Super)
      return f16_to_f32(run.m[i][half]);
    else
      return -(f16_to_f32(run.m[0][half]) * (float)run.t[i][half]);
  }

  static MEMBER float value(const u8 *weight, i64 tileBytes, i32 n, i32 k) {
    const i32 row = n % 16, in = k % blockK, step = k % 64 / 16;
    const u8 *block = weight + n / 16 * tileBytes + (i64)(k / blockK) * blockBytes,
             *run = block + in / 64 * runBytes;
    const i32 lane = row % 8 * 4 + k % 8 / 2, j = k % 16 / 8 * 2 + row / 8, odd = 16 * (k % 2);
    i32 q;
    if constexpr (Bits == 8) {
      q = *(const u32 *)(run + step / 2 * 512 + lane * 16 + (2 * (step % 2) + j / 2) * 4) >>
              (8 * (j % 2) + odd) &
          255;
    } else {
      q = *(const u32 *)(run + lane * 16 + step * 4) >> (4 * j + odd) & 15;
      if constexpr (Bits == 5)
        q |= (*(const u32 *)(run + 512 + lane * 4) >> (4 * step + j + odd) & 1) << 4;
      else if constexpr (Bits == 6)
        q |=
            (*(const u32 *)(run + 512 + lane * 8 + step / 2 * 4) >> (8 * (step % 2) + 2 * j + odd) &
             3)
            << 4;
    }
    auto half = [&](i32 offset) {
      return f16_to_f32(*(const u16 *)(block + offset + 2 * ((Super ? 0 : in / Group * 16) + row)));
    };
    const float code = (float)(q - ZeroPoint), d = half(scaleOffset);
    if constexpr (!Super) {
      const float w = d * code;
      return HasMin ? w + half(minOffset) : w;
    } else {
      const u8 s = block[subScaleOffset + in / Group * 16 + row];
      const float w = d * (HasMin ? (float)s : (float)(i8)s) * code;
      if constexpr (HasMin)
        return w - half(minOffset) * (float)block[subMinOffset + in / Group * 16 + row];
      else
        return w;
    }
  }
};

/// bf16, or f16 as the sum of two bf16: the upper 8 bits of its significand, and the other 3.
/// Exact, for one more mma.
template <bool Half> struct FloatFormat {
  static constexpr bool isFloat = true, hasMin = false, split = Half;
  static constexpr i32 blockK = 64, runsPerBlock = 1, group = 64, registers = 16;

  static constexpr i64 tileBytes(i32 k) { return (i64)divide_up(k, 16) * 512; }

  struct Run {
    uint4 step[4];
  };
  /// `steps` of 16 k are stored; what lies beyond is 0.
  static MEMBER void load(Run &run, const u8 *tile, i32 r, i32 steps) {
    UNROLL
    for (i32 s = 0; s < 4; s++)
      run.step[s] =
          4 * r + s < steps
              ? ld_stream((const uint4 *)(tile + (i64)(4 * r + s) * 512 + threadIdx.x % 32 * 16))
              : uint4{0, 0, 0, 0};
  }
  static MEMBER void fragment(u32 (&a)[4], const Run &run, i32 step) {
    a[0] = run.step[step].x, a[1] = run.step[step].y, a[2] = run.step[step].z,
    a[3] = run.step[step].w;
    if constexpr (Half) {
      UNROLL
      for (i32 j = 0; j < 4; j++)
        a[j] = byte_permute(as_u32(f16_lo(a[j])), as_u32(f16_hi(a[j])), 0x7632);
    }
  }
  /// What the upper halves leave over.
  static MEMBER void rest(u32 (&a)[4], const Run &run, i32 step) {
    const u32 w[4] = {run.step[step].x, run.step[step].y, run.step[step].z, run.step[step].w};
    UNROLL
    for (i32 j = 0; j < 4; j++) {
      const float lo = f16_lo(w[j]), hi = f16_hi(w[j]);
      a[j] =
          pack_bf16(lo - as_f32(as_u32(lo) & 0xffff0000u), hi - as_f32(as_u32(hi) & 0xffff0000u));
    }
  }
  static MEMBER float value(const u8 *weight, i64 tileBytes, i32 n, i32 k) {
    const i32 row = n % 16, lane = row % 8 * 4 + k % 8 / 2,
              v = k % 16 / 8 * 4 + row / 8 * 2 + k % 2;
    const u16 bits =
        *(const u16 *)(weight + n / 16 * tileBytes + (i64)(k / 16) * 512 + lane * 16 + v * 2);
    return Half ? f16_to_f32(bits) : bf16_to_f32(bits);
  }
};

/// E4M3 codes with an f32 scale per row and 128 k, whatever the checkpoint's scales cover. A code's
/// bits in the place of a bf16's are its number but for 2^120, subnormals included; the
/// multiplication is exact. The words of a step are one row's each, as tensor cores take them for
/// products of fp8 (matmul_wgmma_fp8.cuh).
struct Fp8Format {
  static constexpr bool isFloat = false, hasMin = false;
  static constexpr i32 group = 128, blockK = 128, runsPerBlock = 2, runBytes = 1024;
  static constexpr i32 scaleOffset = 2 * runBytes, blockBytes = scaleOffset + 64;
  static constexpr i32 registers = 10;

  static constexpr i64 tileBytes(i32 k) { return (i64)divide_up(k, blockK) * blockBytes; }

  struct Run {
    u32 code[8];
    float s[2];
  };

  static MEMBER void load(Run &run, const u8 *tile, i32 r, i32) {
    const i32 lane = threadIdx.x % 32;
    const u8 *block = tile + (i64)(r / 2) * blockBytes,
             *codes = block + r % 2 * runBytes + lane * 16;
    const uint4 first = ld_stream((const uint4 *)codes),
                second = ld_stream((const uint4 *)(codes + 512));
    run.code[0] = first.x, run.code[1] = first.y, run.code[2] = first.z, run.code[3] = first.w;
    run.code[4] = second.x, run.code[5] = second.y, run.code[6] = second.z, run.code[7] = second.w;
    UNROLL
    for (i32 half = 0; half < 2; half++)
      run.s[half] = *(const float *)(block + scaleOffset + 4 * (lane / 4 + 8 * half));
  }

  static MEMBER void fragment(u32 (&a)[4], const Run &run, i32 step) {
    UNROLL
    for (i32 j = 0; j < 4; j++) {
      const u32 q = run.code[2 * step + j % 2];
      const u32 sign = (j < 2 ? q << 8 : q) & 0x80008000u;
      a[j] = bf16x2_mul(mask_or(j < 2 ? q << 4 : q >> 4, 0x07f007f0u, sign), 0x7b807b80u);
    }
  }
  static MEMBER float scale(const Run &run, i32, i32 half) { return run.s[half]; }
  static MEMBER float minimum(const Run &, i32, i32) { return 0.0f; }

  static MEMBER float value(const u8 *weight, i64 tileBytes, i32 n, i32 k) {
    const i32 row = n % 16, in = k % blockK, step = k % 64 / 16;
    const u8 *block = weight + n / 16 * tileBytes + (i64)(k / blockK) * blockBytes;
    const i32 lane = row % 8 * 4 + k % 8 / 2, word = 2 * (step % 2) + row / 8;
    const u8 code =
        block[in / 64 * runBytes + step / 2 * 512 + lane * 16 + word * 4 + k % 2 * 2 + k % 16 / 8];
    return *(const float *)(block + scaleOffset + 4 * row) * e4m3_to_f32(code);
  }
};

using F16 = FloatFormat<true>;
using BF16 = FloatFormat<false>;
//                       bits group zero  min    super
using Q4_0 = CodeFormat<4, 32, 8, false, false>;
using Q4_1 = CodeFormat<4, 32, 0, true, false>;
using Q5_0 = CodeFormat<5, 32, 16, false, false>;
using Q5_1 = CodeFormat<5, 32, 0, true, false>;
using Q8_0 = CodeFormat<8, 32, 128, false, false>;
using Q4_K = CodeFormat<4, 32, 0, true, true>;
using Q5_K = CodeFormat<5, 32, 0, true, true>;
using Q6_K = CodeFormat<6, 16, 32, false, true>;
using Int4G64 = CodeFormat<4, 64, 8, false, false>;
using Int4G128 = CodeFormat<4, 128, 8, false, false>;
using Int8 = Q8_0;
using Int4G32 = Q4_0;
