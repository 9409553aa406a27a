#include "rope.cuh"
// One warp computes one head. kWidth0 is the number of values per row, kWidth1 per head, and eps is 1e-6.
DEVICE void row(const float *x, const float *w, const float *f, i32 position, float *y) {
  constexpr i32 width = kWidth1, half = width / 2;
  const i32 lane = threadIdx.x % 32;
  for (i32 head = threadIdx.x / 32; head < kWidth0 / width; head += kThreads / 32) {
    const float *from = x + head * width;
    float *to = y + head * width;
    float sum = 0.0f;
    for (i32 i = lane; i < width; i += 32)
      sum += from[i] * from[i];
    const float scale = rsqrt_f32(div_f32(warp_sum(sum), (float)width) + 1e-6f);
    for (i32 i = lane; i < half; i += 32) {
      const float a = from[i] * scale * w[i], b = from[half + i] * scale * w[half + i];
      float cosine, sine;
      cos_sin((float)position * f[i], cosine, sine);
      to[i] = a * cosine - b * sine;
      to[half + i] = b * cosine + a * sine;
    }
  }
}
