//===- region_math.cuh - Functions of regions that math.cuh lacks -----------===//
#pragma once

#include "device.cuh"

/// erf v, with N. Juffa's approximations over two ranges, as on CPUs (MathApproximation.cpp).
DEVICE float erf_f32(float v) {
  const float t = abs_f32(v), s = v * v;
  if (t > 0.927734375f) {
    float r = fma_f32(-1.72853470e-5f, t, 3.83197126e-4f);
    const float u = fma_f32(-3.88396438e-3f, t, 2.42546219e-2f);
    r = fma_f32(r, s, u);
    r = fma_f32(r, t, -1.06777877e-1f);
    r = fma_f32(r, t, -6.34846687e-1f);
    r = fma_f32(r, t, -1.28717512e-1f);
    r = fma_f32(r, t, -t);
    const float large = 1.0f - exp_f32(r);
    return v < 0.0f ? -large : large;
  }
  float p = -5.96761703e-4f;
  p = fma_f32(p, s, 4.99119423e-3f);
  p = fma_f32(p, s, -2.67681349e-2f);
  p = fma_f32(p, s, 1.12819925e-1f);
  p = fma_f32(p, s, -3.76125336e-1f);
  p = fma_f32(p, s, 1.28379166e-1f);
  return fma_f32(p, v, v);
}
