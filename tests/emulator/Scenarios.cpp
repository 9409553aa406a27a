//===- Scenarios.cpp - Typical uses of kernels, with their results ------------===//
#include "Scenarios.h"

namespace ingot::emulator {
namespace {

/// The planted-bug tests judge the findings; without a bug there must be none.
void check(const Result<void> &launched, bool numbers) {
  if (numbers)
    EXPECT_TRUE(bool(launched)) << launched.error().format();
}

void gemv(KernelSession &s, uint32_t n, uint32_t k, bool pdl, bool numbers) {
  Random random(n);
  const auto w = random.bf16(size_t(n) * k);
  const auto x = random.floats(k), gamma = random.floats(k);
  std::vector<uint16_t> packed(size_t(n + 1) / 2 * 2 * k);
  for (uint32_t r = 0; r < n; r++)
    for (uint32_t i = 0; i < k; i++)
      packed[size_t(r / 2) * 2 * k + i / 8 * 16 + r % 2 * 8 + i % 8] = w[size_t(r) * k + i];
  auto *dw = s.put(packed, "w", true);
  auto *dx = s.put(x, "x"), *dg = s.put(gamma, "gamma", true), *dy = s.make<float>(n, "y");
  // An earlier kernel writes x.
  check(s.launch("negate", {.grid = {(k + 127) / 128}, .block = {128}, .pdl = pdl}, dx, k),
        numbers);
  check(s.launch(k == 576 ? "gemv_576" : "gemv_1536",
                 {.grid = {(n + 1) / 2}, .block = {128}, .pdl = pdl}, dy, dw, dx, dg, n),
        numbers);
  if (!numbers)
    return;
  double square = 0;
  for (float v : x)
    square += double(v) * v;
  const double scale = 1 / std::sqrt(square / k + 1e-5);
  std::vector<double> want(n);
  for (uint32_t r = 0; r < n; r++)
    for (uint32_t i = 0; i < k; i++)
      want[r] -= fromBf16(w[size_t(r) * k + i]) * double(x[i]) * gamma[i] * scale;
  expectNear(s.get(dy, n), want, 1e-5 * std::sqrt(k), "gemv");
}

std::vector<double> product(const std::vector<uint16_t> &a, const std::vector<uint16_t> &b,
                            size_t m, size_t n, size_t k) {
  std::vector<double> c(m * n);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++)
      for (size_t x = 0; x < k; x++)
        c[i * n + j] += fromBf16(a[i * k + x]) * double(fromBf16(b[j * k + x]));
  return c;
}

void gemm(KernelSession &s, int m, int n, int k, bool numbers) {
  Random random(uint32_t(m + n));
  const auto a = random.bf16(size_t(m) * k), b = random.bf16(size_t(n) * k);
  auto *da = s.put(a, "a", true), *db = s.put(b, "b", true);
  auto *dc = s.make<float>(size_t(m) * n, "c");
  const Shape shape{.grid = {uint32_t(n + 63) / 64, uint32_t(m + 63) / 64},
                    .block = {128},
                    .dynamicShared = 3 * 128 * 64};
  check(s.launch("gemm", shape, dc, da, db, m, n, k), numbers);
  if (numbers)
    expectNear(s.get(dc, size_t(m) * n), product(a, b, m, n, k), 1e-5 * std::sqrt(k), "gemm");
}

void wgmmaRegisters(KernelSession &s, int k, bool numbers) {
  Random random(3);
  const auto a = random.bf16(size_t(64) * k), b = random.bf16(size_t(24) * k);
  // Words of the A fragment: rows g, g + 8, then the same for k + 8.
  std::vector<uint32_t> fragments(size_t(k) / 16 * 4 * 32 * 4);
  for (size_t i = 0; i < fragments.size(); i++) {
    const size_t word = i % 4, lane = i / 4 % 32, warp = i / 128 % 4, step = i / 512;
    const size_t row = warp * 16 + lane / 4 + word % 2 * 8,
                 column = step * 16 + lane % 4 * 2 + word / 2 * 8;
    fragments[i] = a[row * k + column] | uint32_t(a[row * k + column + 1]) << 16;
  }
  auto *da = s.put(fragments, "a", true);
  auto *db = s.put(b, "b", true);
  auto *dc = s.make<float>(64 * 24, "c");
  check(s.launch("wgmma_64x24_rs", {.block = {128}, .dynamicShared = uint32_t(k) / 64 * 3072}, dc,
                 da, db, k),
        numbers);
  if (numbers)
    expectNear(s.get(dc, 64 * 24), product(a, b, 64, 24, k), 1e-5 * std::sqrt(k), "wgmma rs");
}

} // namespace

void runGemv(KernelSession &s, bool numbers) {
  gemv(s, 7, 1536, true, numbers);
  gemv(s, 6, 576, false, numbers);
}

void runGemm(KernelSession &s, bool numbers) {
  gemm(s, 67, 77, 104, numbers);
  if (!numbers)
    return;
  gemm(s, 1, 8, 8, numbers);
  gemm(s, 130, 63, 200, numbers);
}

void runStream(KernelSession &s, bool numbers) {
  const int n = 8, k = 4096;
  Random random(2);
  const auto w = random.bf16(size_t(n) * k);
  const auto x = random.floats(k);
  std::vector<uint16_t> packed(w.size());
  for (int r = 0; r < n; r++)
    for (int i = 0; i < k; i++)
      packed[size_t(r) / 4 * 4 * k + i / 512 * 2048 + r % 4 * 512 + i % 512] = w[size_t(r) * k + i];
  auto *dw = s.put(packed, "w", true);
  auto *dx = s.put(x, "x"), *dy = s.make<float>(n, "y");
  check(s.launch("stream_gemv",
                 {.grid = {n / 4}, .block = {160}, .dynamicShared = 4 * 4096 + k * 4}, dy, dw, dx,
                 k),
        numbers);
  if (!numbers)
    return;
  std::vector<double> want(n);
  for (int r = 0; r < n; r++)
    for (int i = 0; i < k; i++)
      want[r] += fromBf16(w[size_t(r) * k + i]) * double(x[i]);
  expectNear(s.get(dy, n), want, 1e-3, "stream gemv");
}

void runWgmma(KernelSession &s, bool numbers) {
  const int k = 192;
  Random random(4);
  const auto a = random.bf16(64 * k), b = random.bf16(16 * k);
  auto *da = s.put(a, "a", true), *db = s.put(b, "b", true);
  auto *dc = s.make<float>(64 * 16, "c");
  check(s.launch("wgmma_64x16", {.block = {128}, .dynamicShared = 80 * 128}, dc, da, db, k),
        numbers);
  if (!numbers)
    return;
  expectNear(s.get(dc, 64 * 16), product(a, b, 64, 16, k), 1e-5 * std::sqrt(k), "wgmma ss");
  wgmmaRegisters(s, 192, numbers);
}

void runGridPhases(KernelSession &s, bool numbers) {
  const uint32_t blocks = 60;
  const auto x = Random(5).floats(blocks * 64);
  double sum = 0;
  for (float v : x)
    sum += v;
  auto *dx = s.put(x, "x"), *partial = s.make<float>(blocks, "partial"),
       *dy = s.make<float>(blocks * 64, "y");
  auto *counter = s.put(std::vector<uint32_t>(1), "counter");
  check(s.launch("grid_phases", {.grid = {blocks}, .block = {64}, .resident = true}, dy, partial,
                 counter, dx),
        numbers);
  if (numbers)
    expectNear(s.get(dy, blocks * 64), std::vector<double>(blocks * 64, sum), 1e-3, "grid phases");
}

void runLastBlock(KernelSession &s, bool numbers) {
  const uint32_t blocks = 9;
  const auto x = Random(6).floats(blocks * 64);
  double sum = 0;
  for (float v : x)
    sum += v;
  auto *dx = s.put(x, "x"), *partial = s.make<float>(blocks * 2, "partial"),
       *dy = s.make<float>(1, "y");
  auto *counter = s.put(std::vector<uint32_t>(1), "counter");
  check(s.launch("last_block", {.grid = {blocks}, .block = {64}}, dy, partial, counter, dx),
        numbers);
  if (numbers)
    expectNear(s.get(dy, 1), {sum}, 1e-3, "last block");
}

void runClusterSum(KernelSession &s, bool numbers) {
  const uint32_t blocks = 8, size = 4;
  const auto x = Random(7).floats(blocks * 64);
  auto *dx = s.put(x, "x"), *dy = s.make<float>(blocks * 64, "y");
  check(s.launch("cluster_sum", {.grid = {blocks}, .block = {64}, .cluster = {size}}, dy, dx),
        numbers);
  if (!numbers)
    return;
  std::vector<double> want(blocks * 64);
  for (uint32_t i = 0; i < want.size(); i++)
    for (uint32_t r = 0; r < size; r++)
      want[i] += x[(i / 64 / size * size + r) * 64 + i % 64];
  expectNear(s.get(dy, blocks * 64), want, 1e-5, "cluster sum");
}

void runClusterRing(KernelSession &s, bool numbers) {
  const uint32_t blocks = 6, size = 2;
  const auto x = Random(8).floats(blocks * 64);
  auto *dx = s.put(x, "x"), *dy = s.make<float>(blocks * 64, "y");
  check(s.launch("cluster_ring", {.grid = {blocks}, .block = {64}, .cluster = {size}}, dy, dx),
        numbers);
  if (!numbers)
    return;
  std::vector<double> want(blocks * 64);
  for (uint32_t b = 0; b < blocks; b++)
    for (uint32_t i = 0; i < 64; i++)
      want[b * 64 + i] = x[(b ^ 1) * 64 + 63 - i];
  expectNear(s.get(dy, blocks * 64), want, 0, "cluster ring");

  auto *both = s.make<float>(blocks * 64, "both");
  check(
      s.launch("cluster_multicast", {.grid = {blocks}, .block = {32}, .cluster = {size}}, both, dx),
      numbers);
  for (uint32_t i = 0; i < blocks * 64; i++)
    want[i] = x[i % 64];
  expectNear(s.get(both, blocks * 64), want, 0, "cluster multicast");
}

void runTensorBox(KernelSession &s, bool numbers) {
  const uint32_t columns = 200, rows = 20, rowBytes = 416;
  std::vector<uint16_t> matrix(rowBytes / 2 * rows);
  for (size_t i = 0; i < matrix.size(); i++)
    matrix[i] = uint16_t(i + 1);
  auto *data = s.put(matrix, "matrix", true);
  struct alignas(64) Map {
    uint8_t bytes[128];
  } map;
  ASSERT_TRUE(bool(s.device->encodeTensorMap(
      &map, {data, 2, columns, rows, rowBytes, /*box*/ 64, 16, /*swizzle128=*/true})));
  auto *dmap = s.put(std::vector<Map>{map}, "map", true);
  auto *out = s.make<uint16_t>(16 * 64, "out");
  // The boxes lie inside, across the right and lower edges, and across the left and upper edges.
  const int corners[][2] = {{0, 0}, {72, 3}, {168, 12}, {-5, -2}};
  for (auto [x, y] : corners) {
    check(s.launch("tensor_box", {.block = {128}, .dynamicShared = 4096}, out, dmap, x, y),
          numbers);
    if (!numbers)
      return;
    const auto got = s.get(out, 16 * 64);
    for (int r = 0; r < 16; r++)
      for (int c = 0; c < 64; c++) {
        const int row = y + r, column = x + c;
        const bool inside = row >= 0 && row < int(rows) && column >= 0 && column < int(columns);
        ASSERT_EQ(got[r * 64 + c], inside ? matrix[row * rowBytes / 2 + column] : 0)
            << "row " << row << " column " << column;
      }
  }
}

void runTensorRing(KernelSession &s, bool numbers) {
  const uint32_t steps = 7, columns = steps * 64, rows = 16, blocks = 4;
  std::vector<uint16_t> matrix(columns * rows);
  for (size_t i = 0; i < matrix.size(); i++)
    matrix[i] = uint16_t(i + 1);
  auto *data = s.put(matrix, "matrix", true);
  struct alignas(64) Map {
    uint8_t bytes[128];
  } map;
  ASSERT_TRUE(bool(s.device->encodeTensorMap(
      &map, {data, 2, columns, rows, columns * 2, /*box*/ 64, 8, /*swizzle128=*/true})));
  auto *out = s.make<uint16_t>(blocks * steps * 1024, "out");
  check(s.launch("tensor_ring",
                 {.grid = {blocks}, .block = {64}, .cluster = {2}, .dynamicShared = 4096}, out,
                 int32_t(steps), map),
        numbers);
  if (!numbers)
    return;
  const auto got = s.get(out, blocks * steps * 1024);
  for (uint32_t b = 0; b < blocks; b++)
    for (uint32_t i = 0; i < steps; i++)
      for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < 64; c++)
          ASSERT_EQ(got[((b * steps + i) * 16 + r) * 64 + c], matrix[r * columns + i * 64 + c])
              << "block " << b << " step " << i << " row " << r << " column " << c;
}

/// Reading unwritten bytes of a box is not a finding, and they are NaN in builds that track writes.
void runUnwrittenRows(KernelSession &s, bool numbers) {
  const uint32_t columns = 64, rows = 16, written = 11;
  auto *data = s.make<uint16_t>(columns * rows, "matrix");
  std::vector<uint16_t> ones(columns * written, 1);
  s.device->upload(data, ones.data(), ones.size() * 2);
  struct alignas(64) Map {
    uint8_t bytes[128];
  } map;
  ASSERT_TRUE(bool(s.device->encodeTensorMap(
      &map, {data, 2, columns, rows, columns * 2, /*box*/ 64, 16, /*swizzle128=*/true})));
  auto *dmap = s.put(std::vector<Map>{map}, "map", true);
  auto *out = s.make<uint16_t>(16 * 64, "out");
  check(s.launch("tensor_box", {.block = {128}, .dynamicShared = 4096}, out, dmap, 0, 0), numbers);
  const auto got = s.get(out, 16 * 64);
  for (uint32_t i = 0; i < got.size(); i++)
    ASSERT_EQ(got[i], i < ones.size() ? 1 : s.options.checked ? 0xffff : 0);
}

} // namespace ingot::emulator
