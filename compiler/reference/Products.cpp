//===- Products.cpp - Matrix products with reproducible bits ---------------===//
//
// A tile of 4 rows of x and 2 rows of w keeps eight accumulators in registers. The tile function is compiled
// twice, for SSE2 and AVX2. Both versions round every multiplication and addition identically, so the choice affects
// only speed.
//===----------------------------------------------------------------------===//
#include "compiler/reference/Products.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cstring>

using namespace ingot::reference;

#if defined(__x86_64__)
#define INGOT_EACH_LEVEL __attribute__((target_clones("avx2", "default")))
#else
#define INGOT_EACH_LEVEL
#endif
#define INGOT_INLINE inline __attribute__((always_inline))

namespace {

constexpr int64_t kLanes = 8;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));

INGOT_INLINE void load(Lanes &into, const float *from, int64_t count) {
  into = Lanes{};
  std::memcpy(&into, from, static_cast<size_t>(count) * sizeof(float));
}

INGOT_INLINE float sum(const Lanes &v) {
  return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]));
}

template <int X, int W>
INGOT_INLINE void tile(const float *x, const float *w, int64_t k, float *y, int64_t yStride) {
  Lanes sums[X][W] = {};
  auto step = [&](int64_t at, int64_t count) __attribute__((always_inline)) {
    Lanes xs[X], ws[W];
    for (int i = 0; i < X; ++i)
      load(xs[i], x + i * k + at, count);
    for (int j = 0; j < W; ++j)
      load(ws[j], w + j * k + at, count);
    for (int i = 0; i < X; ++i)
      for (int j = 0; j < W; ++j)
        sums[i][j] += xs[i] * ws[j];
  };
  int64_t at = 0;
  for (; at + kLanes <= k; at += kLanes)
    step(at, kLanes);
  if (at < k)
    step(at, k - at);
  for (int i = 0; i < X; ++i)
    for (int j = 0; j < W; ++j)
      y[i * yStride + j] = sum(sums[i][j]);
}

/// Multiplies all rows of x by `rows` rows of w.
INGOT_EACH_LEVEL void multiplyBlock(const float *x, int64_t xRows, const float *w, int64_t rows,
                                    int64_t k, float *y, int64_t yStride) {
  int64_t n = 0;
  for (; n + 2 <= rows; n += 2) {
    int64_t t = 0;
    for (; t + 4 <= xRows; t += 4)
      tile<4, 2>(x + t * k, w + n * k, k, y + t * yStride + n, yStride);
    for (; t < xRows; ++t)
      tile<1, 2>(x + t * k, w + n * k, k, y + t * yStride + n, yStride);
  }
  for (; n < rows; ++n)
    for (int64_t t = 0; t < xRows; ++t)
      tile<1, 1>(x + t * k, w + n * k, k, y + t * yStride + n, yStride);
}

} // namespace

float ingot::reference::dot(const float *x, const float *w, int64_t k) {
  float result;
  multiplyBlock(x, 1, w, 1, k, &result, 1);
  return result;
}

void ingot::reference::multiplyRows(const Matrix &x, const float *w, int64_t rows, float *y,
                                    int64_t yStride) {
  constexpr int64_t kBlockRows = 32, kBlockTokens = 64;
  int64_t k = x.columns;
  int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  llvm::parallelFor(0, static_cast<size_t>(blocks), [&](size_t block) {
    int64_t n = static_cast<int64_t>(block) * kBlockRows;
    int64_t count = std::min(kBlockRows, rows - n);
    // A block of w stays in the cache while the tokens are processed.
    for (int64_t t = 0; t < x.rows; t += kBlockTokens)
      multiplyBlock(x.values.data() + t * k, std::min(kBlockTokens, x.rows - t), w + n * k, count,
                    k, y + t * yStride + n, yStride);
  });
}
