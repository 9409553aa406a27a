//===- math.cuh - Functions with the same bits on GPU and host --------------===//
//
// Each function is one C++ formula with explicit fma, so a kernel has the same results on the emulator and on the GPU.
// tests/emulator/WordsTest.cpp measures the errors. If speed matters more (softmax), use exp2_fast. Its bits differ
// between GPU and host.
//===----------------------------------------------------------------------===//
#pragma once

/// 1 / sqrt(v); root and quotient are each correctly rounded.
DEVICE float rsqrt_f32(float v) { return div_f32(1.0f, sqrt_f32(v)); }

/// 2^n for n in -126…127.
DEVICE float power_of_two(i32 n) { return as_f32((u32)(n + 127) << 23); }

/// e^v, 1.1 ulp. v = n ln 2 + r with |r| <= ln 2 / 2. e^r is a polynomial. 2^n is applied as two
/// factors, so subnormal results are rounded only once.
DEVICE float exp_f32(float v) {
  const float bounded = min_f32(max_f32(v, -104.0f), 89.0f);
  const float shifted = fma_f32(bounded, 0x1.715476p+0f, 0x1.8p+23f); // rounds to an integer
  const float n = shifted - 0x1.8p+23f;
  float r = fma_f32(n, -0x1.62e4p-1f, bounded); // ln 2 has two parts; n times the first is exact
  r = fma_f32(n, -0x1.7f7d1cp-20f, r);
  float p = 0.00139506f;
  p = fma_f32(p, r, 0.00836895f);
  p = fma_f32(p, r, 0.0416662f);
  p = fma_f32(p, r, 0.16666518f);
  p = fma_f32(p, r, 0.50000001f);
  p = fma_f32(p * r, r, r) + 1.0f;
  const i32 whole = (i32)n, half = whole >> 1;
  const float result = p * power_of_two(half) * power_of_two(whole - half);
  return v == v ? result : v;
}

/// ln v, 1 ulp; -inf for 0, NaN for negative v. v = 2^n m with m in [sqrt 1/2, sqrt 2).
DEVICE float log_f32(float v) {
  if (!(v > 0.0f) || v == as_f32(0x7f800000u))
    return v == 0.0f ? as_f32(0xff800000u) : v < 0.0f ? as_f32(0x7fffffffu) : v;
  const bool subnormal = v < 0x1p-126f;
  const u32 bits = as_u32(subnormal ? v * 0x1p+24f : v) - 0x3f3504f3u; // bits of sqrt 1/2
  const float n = (float)(((i32)bits >> 23) - (subnormal ? 24 : 0));
  const float m = as_f32((bits & 0x007fffffu) + 0x3f3504f3u);
  const float f = m - 1.0f, s = div_f32(f, m + 1.0f), z = s * s;
  float p = 0.23584256f;
  p = fma_f32(p, z, 0.28537204f);
  p = fma_f32(p, z, 0.40000337f);
  p = fma_f32(p, z, 0.66666666f);
  // 2s = f - s f, so the leading term is f itself, without the error of the division.
  const float rest = s * fma_f32(p, z, -f);
  return fma_f32(n, 0x1.62e4p-1f, f + fma_f32(n, 0x1.7f7d1cp-20f, rest));
}

/// tanh v, 1.5 ulp.
DEVICE float tanh_f32(float v) {
  const float a = abs_f32(v);
  if (a < 0.625f) {
    const float z = v * v;
    float p = 0.00214754f;
    p = fma_f32(p, z, -0.00818267f);
    p = fma_f32(p, z, 0.02170297f);
    p = fma_f32(p, z, -0.0539472f);
    p = fma_f32(p, z, 0.1333321f);
    p = fma_f32(p, z, -0.33333331f);
    return fma_f32(p * z, v, v);
  }
  const float t = 1.0f - div_f32(2.0f, exp_f32(2.0f * a) + 1.0f);
  return v == v ? as_f32(as_u32(t) | (as_u32(v) & 0x80000000u)) : v;
}

/// 1 / (1 + e^-v).
DEVICE float sigmoid_f32(float v) { return div_f32(1.0f, 1.0f + exp_f32(-v)); }

/// e^v, by the special function unit.
DEVICE float exp_fast(float v) { return exp2_fast(v * 0x1.715476p+0f); }
