//===- rope.cuh - Rotary tables, and appending heads to the KV cache --------===//
//
// The formulas are the same as on CPUs (RopeTable.cpp, RopeAppend.cpp), with one rounding per operation:
//
//   table    row t: cos(p f0) … cos(p fc-1) | sin(p f0) … sin(p fc-1) | 0 …      p f rounded to f32
//   norm     (x * (1 / sqrt(mean(x*x) + eps))) * (w + weight_offset); if centred, x is first reduced by
//            its mean
//   rotate   a' = a*cos - b*sin,  b' = b*cos + a*sin
//   grow     q' = q * temperature[position / period]
//
// A norm after the rotation uses the mean of squares from before the rotation, which does not change it.
//===----------------------------------------------------------------------===//
#pragma once

#include "kv_page.cuh"

#ifdef __CUDACC__
DEVICE double fma_f64(double a, double b, double c) { return __fma_rn(a, b, c); }
#else
DEVICE double fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }
#endif

/// Computes cosine and sine of an f32, correct except for the last bit. The argument is reduced in f64
/// modulo pi/2, which is split into two parts. The Taylor sums are also in f64.
DEVICE void cos_sin(float x, float &cosine, float &sine) {
  const double a = x, shifted = fma_f64(a, 0.63661977236758134308,
                                        6755399441055744.0); // 1.5 * 2^52 rounds
  const double n = shifted - 6755399441055744.0;
  double r = fma_f64(n, -1.57079632679489655800, a);
  r = fma_f64(n, -6.12323399573676603587e-17, r);
  const double s = r * r;
  double p = -1.0 / 39916800;
  p = fma_f64(p, s, 1.0 / 362880);
  p = fma_f64(p, s, -1.0 / 5040);
  p = fma_f64(p, s, 1.0 / 120);
  p = fma_f64(p, s, -1.0 / 6);
  const float ofSine = (float)fma_f64(p * s, r, r);
  double q = 1.0 / 479001600;
  q = fma_f64(q, s, -1.0 / 3628800);
  q = fma_f64(q, s, 1.0 / 40320);
  q = fma_f64(q, s, -1.0 / 720);
  q = fma_f64(q, s, 1.0 / 24);
  q = fma_f64(q, s, -0.5);
  q = fma_f64(q, s, 1.0);
  const float ofCosine = (float)q;
  const i32 quarter =
      (i32)(i64)n; // odd quadrants swap the two; 1 and 2 negate the cosine, 2 and 3 the sine
  const float c = quarter & 1 ? ofSine : ofCosine, t = quarter & 1 ? ofCosine : ofSine;
  cosine = (quarter + 1) & 2 ? -c : c;
  sine = quarter & 2 ? -t : t;
}

/// Computes the rotary table, one block per token.
template <i32 Count>
DEVICE void rope_table(const float *frequencies, float *table, const BatchView *batch,
                       float factor) {
  constexpr i32 stride = round_up(2 * Count, 32);
  pdl_wait();
  const i32 token = blockIdx.x;
  if (token >= batch->tokens)
    return;
  const float position = (float)batch->positions[token];
  float *row = table + (i64)token * stride;
  for (i32 i = threadIdx.x; i < Count; i += blockDim.x) {
    float cosine, sine;
    cos_sin(position * frequencies[i], cosine, sine);
    row[i] = cosine * factor, row[Count + i] = sine * factor;
  }
  for (i32 i = 2 * Count + threadIdx.x; i < stride; i += blockDim.x)
    row[i] = 0.0f;
}

/// Normalises and rotates one head with one warp, and passes each element to `store(d, value)`. A lane
/// stores only elements that it has read itself, so the operation may be in place. S: headDim, rotary
/// (0: none), interleaved, normAfter, centred, eps, weightOffset.
template <class S, bool Norm, class Store>
DEVICE void rope_head(const float *x, const float *table, const float *weight, Store store) {
  const i32 lane = threadIdx.x % 32;
  float inverse = 1.0f, mean = 0.0f;
  auto at = [&](i32 d) {
    if constexpr (Norm && S::centred)
      return x[d] - mean;
    else
      return x[d];
  };
  if constexpr (Norm) {
    if constexpr (S::centred) {
      float sum = 0.0f;
      for (i32 d = lane; d < S::headDim; d += 32)
        sum += x[d];
      mean = div_f32(warp_sum(sum), (float)S::headDim);
    }
    float squares = 0.0f;
    for (i32 d = lane; d < S::headDim; d += 32)
      squares += at(d) * at(d);
    inverse = div_f32(1.0f, sqrt_f32(div_f32(warp_sum(squares), (float)S::headDim) + S::eps));
    sync_warp(); // all lanes have read before any lane writes
  }
  auto scaled = [&](i32 d, float value) { return value * inverse * (weight[d] + S::weightOffset); };
  auto normed = [&](i32 d) {
    if constexpr (Norm && !S::normAfter)
      return scaled(d, at(d));
    else
      return x[d];
  };
  auto finish = [&](i32 d, float value) {
    if constexpr (Norm && S::normAfter)
      store(d, scaled(d, value));
    else
      store(d, value);
  };
  for (i32 i = lane; i < S::rotary / 2; i += 32) {
    const i32 first = S::interleaved ? 2 * i : i,
              second = S::interleaved ? 2 * i + 1 : i + S::rotary / 2;
    const float a = normed(first), b = normed(second), cosine = table[i],
                sine = table[S::rotary / 2 + i];
    finish(first, a * cosine - b * sine);
    finish(second, b * cosine + a * sine);
  }
  for (i32 d = S::rotary + lane; d < S::headDim; d += 32)
    finish(d, normed(d));
}

constexpr i32 kRopeWarps = 4;
/// Blocks per token, with one warp for each head of q, k and v.
constexpr i32 rope_blocks(i32 heads, i32 kvHeads) {
  return divide_up(heads + 2 * kvHeads, kRopeWarps);
}

/// Writes a head's vector into a page as bf16. All lanes of a warp call it together. `each(store)` calls
/// store(d, value) for the dimensions of the calling lane.
template <class Each> DEVICE void store_vector(u8 *to, Each each) {
  each([&](i32 d, float value) { ((u16 *)to)[d] = f32_to_bf16(value); });
}
/// Writes the vector as E4M3 with its scale. `each` is called twice and must pass the same values.
template <class Each> DEVICE void store_scaled_vector(u8 *to, float *scale, Each each) {
  float most = 0.0f;
  bool finite = true;
  each([&](i32, float value) {
    most = max_f32(most, abs_f32(value));
    finite = finite && abs_f32(value) < as_f32(0x7f800000u);
  });
  // An element that is NaN or infinite makes the whole vector NaN, since codes cannot represent it.
  const float step = warp_any(!finite) ? as_f32(0x7fffffffu) : kv_scale(warp_max(most));
  each([&](i32 d, float value) { to[d] = f32_to_e4m3(div_f32(value, step)); });
  if (threadIdx.x % 32 == 0)
    *scale = step;
}

template <class S>
DEVICE void rope_append(float *q, const float *k, const float *v, u8 *pool, const float *table,
                        const float *qNorm, const float *kNorm, const float *temperature,
                        const BatchView *batch) {
  constexpr i32 blocks = rope_blocks(S::heads, S::kvHeads),
                kStride = round_up(S::kvHeads * S::headDim, 32);
  pdl_wait();
  const i32 token = blockIdx.x / blocks;
  i32 head = blockIdx.x % blocks * kRopeWarps + threadIdx.x / 32;
  if (token >= batch->tokens || head >= S::heads + 2 * S::kvHeads)
    return;
  if constexpr (S::rotary > 0)
    table += (i64)token * round_up(S::rotary, 32);
  if (head < S::heads) {
    float *row = q + (i64)token * round_up(S::heads * S::headDim, 32) + head * S::headDim;
    float factor = 1.0f;
    if constexpr (S::temperatures > 0) {
      const i32 period = batch->positions[token] / S::temperaturePeriod;
      factor = temperature[period < S::temperatures ? period : S::temperatures - 1];
    }
    if constexpr (S::rotary > 0 || S::qNormed || S::temperatures > 0)
      rope_head<S, S::qNormed>(row, table, qNorm + head * S::qNormStride, [&](i32 d, float value) {
        row[d] = S::temperatures > 0 ? value * factor : value;
      });
    return;
  }
  const i32 position = batch->positions[token], slot = position % kPageTokens;
  const KvPage<S::kvHeads, S::headDim, S::fp8> page(
      pool, batch->blockTable[batch->sequenceOf[token] * batch->blockTableStride +
                              position / kPageTokens]);
  head -= S::heads;
  const bool isKey = head < S::kvHeads;
  head -= isKey ? 0 : S::kvHeads;
  const float *from = (isKey ? k : v) + (i64)token * kStride + head * S::headDim;
  auto each = [&](auto store) {
    if (isKey)
      return rope_head<S, S::kNormed>(from, table, kNorm + head * S::kNormStride, store);
    for (i32 d = threadIdx.x % 32; d < S::headDim; d += 32)
      store(d, from[d]);
  };
  u8 *to = isKey ? page.keys(head, slot) : page.values(head, slot);
  if constexpr (S::fp8)
    store_scaled_vector(to, isKey ? page.keyScale(head, slot) : page.valueScale(head, slot), each);
  else
    store_vector(to, each);
}
