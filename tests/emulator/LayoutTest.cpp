//===- LayoutTest.cpp - Fragments, descriptors and swizzles against the PTX tables ----===//
//
// The positions of values are implemented here a second time from the PTX ISA, without the
// emulator's code, so that the emulator and the kernels cannot share a misreading unnoticed. On a
// GPU the same kernels must meet the same expectations; none was available.
//===----------------------------------------------------------------------===//
#include "KernelSession.h"

#include <array>
#include <bit>

namespace ingot::emulator {
namespace {

// ---------------------------------------------------------------- PTX ISA tables

/// "Matrix Fragments for mma.m16n8k16 with floating point type", .f16 and .bf16. `i` is the index
/// of one of a lane's eight (four) values: a0…a7, b0…b3.
int aRow16(int lane, int i) {
  const int group = lane >> 2;
  return (i < 2) || (i >= 4 && i < 6) ? group : group + 8;
}
int aColumn16(int lane, int i) {
  const int inGroup = lane % 4;
  return i < 4 ? inGroup * 2 + (i & 1) : inGroup * 2 + (i & 1) + 8;
}
int bRow16(int lane, int i) {
  const int inGroup = lane % 4;
  return i < 2 ? inGroup * 2 + (i & 1) : inGroup * 2 + (i & 1) + 8;
}
int bColumn16(int lane, int) { return lane >> 2; }

/// "Matrix Fragments for mma.m16n8k32", .s8 and .e4m3: a0…a15, b0…b7.
int aRow8(int lane, int i) {
  const int group = lane >> 2;
  return (i < 4) || (i >= 8 && i < 12) ? group : group + 8;
}
int aColumn8(int lane, int i) {
  const int inGroup = lane % 4;
  return i < 8 ? inGroup * 4 + (i & 3) : inGroup * 4 + (i & 3) + 16;
}
int bRow8(int lane, int i) {
  const int inGroup = lane % 4;
  return i < 4 ? inGroup * 4 + (i & 3) : inGroup * 4 + (i & 3) + 16;
}

/// In both, the accumulator has c0…c3.
int cRow(int lane, int i) { return i < 2 ? lane >> 2 : (lane >> 2) + 8; }
int cColumn(int lane, int i) { return (lane % 4) * 2 + (i & 1); }

/// "Register Fragments for wgmma.m64nNk16", D: warp w of the warpgroup, d0…d(N/2 - 1).
int wgmmaRow(int thread, int i) {
  const int warp = thread / 32 % 4, group = thread % 32 / 4;
  return 16 * warp + group + 8 * (i / 2 % 2);
}
int wgmmaColumn(int thread, int i) { return 8 * (i / 4) + (thread % 4) * 2 + (i & 1); }
/// "Register Fragments for wgmma.m64nNk16", A: a0…a7 equal those of m16n8k16 for the warp's 16 rows.
int wgmmaARow(int thread, int i) { return 16 * (thread / 32 % 4) + aRow16(thread % 32, i); }

/// "Shared Memory Matrix Layout", 128-byte swizzle, K-major, 16-bit elements: the atom is 8 rows x
/// 128 bytes, and atoms follow each other along the rows; in a row, 16-byte chunk c is at c XOR row
/// % 8.
int swizzledByte(int row, int byte) {
  static constexpr int kChunkAt[8][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6},
                                         {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
                                         {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
                                         {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
  return row / 8 * 1024 + row % 8 * 128 + kChunkAt[row % 8][byte / 16] * 16 + byte % 16;
}

// ---------------------------------------------------------------- ldmatrix

TEST(Layout, Ldmatrix) {
  struct Case {
    const char *kernel;
    int matrices;
    bool transposed;
  };
  const Case cases[] = {{"ldmatrix_1", 1, false}, {"ldmatrix_2", 2, false},
                        {"ldmatrix_4", 4, false}, {"ldmatrix_1t", 1, true},
                        {"ldmatrix_2t", 2, true}, {"ldmatrix_4t", 4, true}};
  for (const char *variant : {"fast", "checked"}) {
    KernelSession s("layouts", variant);
    for (const Case &c : cases) {
      std::vector<uint16_t> in(size_t(c.matrices) * 64);
      for (size_t i = 0; i < in.size(); i++)
        in[i] = uint16_t(1000 + i);
      auto *out = s.make<uint32_t>(size_t(c.matrices) * 32, "out");
      EXPECT_LAUNCHED(s.launch(c.kernel, {.block = {32}}, out, s.put(in, "in")));
      for (int m = 0; m < c.matrices; m++)
        for (int lane = 0; lane < 32; lane++)
          for (int half = 0; half < 2; half++) {
            // "Each thread: row lane / 4, elements 2 (lane % 4) and the next."
            const int row = lane / 4, column = lane % 4 * 2 + half;
            const int want = 1000 + m * 64 + (c.transposed ? column * 8 + row : row * 8 + column);
            ASSERT_EQ(int(out[m * 32 + lane] >> (16 * half) & 0xffff), want)
                << c.kernel << " matrix " << m << " lane " << lane;
          }
    }
  }
}

// ---------------------------------------------------------------- mma

/// Codes of the integers -8…8, which are exact in every type.
struct Number {
  int bits;
  uint32_t (*encode)(int);
};
uint32_t bf16Of(int v) { return toBf16(float(v)); }
uint32_t toF16(int v) { return std::bit_cast<uint16_t>(_Float16(v)); }
uint32_t toS8(int v) { return uint8_t(v); }
uint32_t toE4M3(int v) { // -8…8
  static constexpr uint8_t kCodes[9] = {0x00, 0x38, 0x40, 0x44, 0x48, 0x4a, 0x4c, 0x4e, 0x50};
  return kCodes[std::abs(v)] | (v < 0 ? 0x80u : 0u);
}

/// Checks D = A B + C with one mma; sums are returned as doubles.
template <class T> void checkMma(const char *kernel, Number number) {
  const int k = 256 / number.bits, perWord = 32 / number.bits;
  Random random(41);
  std::vector<int> a(size_t(16 * k)), b(size_t(k * 8)), c(16 * 8);
  for (auto *m : {&a, &b, &c})
    for (int &v : *m)
      v = int(random.word() % 17) - 8;
  std::vector<uint32_t> fa(4 * 32), fb(2 * 32);
  std::vector<T> fd(4 * 32);
  const bool wide = number.bits == 16;
  for (int lane = 0; lane < 32; lane++) {
    for (int i = 0; i < 4 * perWord; i++) {
      const int row = wide ? aRow16(lane, i) : aRow8(lane, i),
                column = wide ? aColumn16(lane, i) : aColumn8(lane, i);
      fa[size_t(i / perWord * 32 + lane)] |= number.encode(a[size_t(row * k + column)])
                                             << (i % perWord * number.bits);
    }
    for (int i = 0; i < 2 * perWord; i++) {
      const int row = wide ? bRow16(lane, i) : bRow8(lane, i);
      fb[size_t(i / perWord * 32 + lane)] |= number.encode(b[size_t(row * 8 + bColumn16(lane, i))])
                                             << (i % perWord * number.bits);
    }
    for (int i = 0; i < 4; i++)
      fd[size_t(i * 32 + lane)] = T(c[size_t(cRow(lane, i) * 8 + cColumn(lane, i))]);
  }
  KernelSession s("layouts", "fast");
  auto *d = s.put(fd, "d");
  EXPECT_LAUNCHED(s.launch(kernel, {.block = {32}}, d, s.put(fa, "a"), s.put(fb, "b")));
  for (int lane = 0; lane < 32; lane++)
    for (int i = 0; i < 4; i++) {
      const int row = cRow(lane, i), column = cColumn(lane, i);
      int want = c[size_t(row * 8 + column)];
      for (int x = 0; x < k; x++)
        want += a[size_t(row * k + x)] * b[size_t(x * 8 + column)];
      ASSERT_EQ(double(d[i * 32 + lane]), want) << kernel << " lane " << lane << " register " << i;
    }
}

TEST(Layout, Mma) {
  checkMma<float>("layout_bf16", {16, bf16Of});
  checkMma<float>("layout_f16", {16, toF16});
  checkMma<int32_t>("layout_s8", {8, toS8});
  checkMma<float>("layout_e4m3", {8, toE4M3});
}

TEST(Layout, MmaS8AtTheEndsOfItsRange) {
  KernelSession s("layouts", "fast");
  std::vector<uint32_t> a(4 * 32, 0x80808080u), b(2 * 32, 0x80808080u);
  auto *d = s.put(std::vector<int32_t>(4 * 32, 7), "d");
  EXPECT_LAUNCHED(s.launch("layout_s8", {.block = {32}}, d, s.put(a, "a"), s.put(b, "b")));
  for (int i = 0; i < 4 * 32; i++)
    EXPECT_EQ(d[i], 32 * 128 * 128 + 7);
}

TEST(Layout, MmaTile) {
  Random random(43);
  std::vector<int> a(2 * 16 * 16), b(16 * 24);
  for (auto *m : {&a, &b})
    for (int &v : *m)
      v = int(random.word() % 17) - 8;
  std::vector<uint32_t> fa(8 * 32), fb(6 * 32);
  for (int lane = 0; lane < 32; lane++) {
    for (int tile = 0; tile < 2; tile++)
      for (int i = 0; i < 8; i++)
        fa[size_t((tile * 4 + i / 2) * 32 + lane)] |=
            toF16(a[size_t((tile * 16 + aRow16(lane, i)) * 16 + aColumn16(lane, i))])
            << (i % 2 * 16);
    for (int tile = 0; tile < 3; tile++)
      for (int i = 0; i < 4; i++)
        fb[size_t((tile * 2 + i / 2) * 32 + lane)] |=
            toF16(b[size_t(bRow16(lane, i) * 24 + tile * 8 + bColumn16(lane, i))]) << (i % 2 * 16);
  }
  KernelSession s("layouts", "checked");
  auto *d = s.make<float>(24 * 32, "d");
  EXPECT_LAUNCHED(s.launch("layout_tile", {.block = {32}}, d, s.put(fa, "a"), s.put(fb, "b")));
  for (int lane = 0; lane < 32; lane++)
    for (int i = 0; i < 24; i++) {
      const int row = i / 12 * 16 + cRow(lane, i % 4),
                column = i / 4 % 3 * 8 + cColumn(lane, i % 4);
      int want = 0;
      for (int x = 0; x < 16; x++)
        want += a[size_t(row * 16 + x)] * b[size_t(x * 24 + column)];
      ASSERT_EQ(d[i * 32 + lane], want) << "lane " << lane << " register " << i;
    }
}

// ---------------------------------------------------------------- wgmma

void checkWgmma(const char *kernel, int n, bool registers, uint32_t (*encode)(int)) {
  Random random(47);
  for (uint32_t accumulate : {0u, 1u})
    for (uint32_t step : {0u, 3u}) {
      std::vector<int> a(64 * 64), b(size_t(n * 64)), c(size_t(64 * n));
      for (auto *m : {&a, &b, &c})
        for (int &v : *m)
          v = int(random.word() % 17) - 8;
      std::vector<uint16_t> tile(size_t(64 + n) * 64);
      for (int row = 0; row < 64 + n; row++)
        for (int k = 0; k < 64; k++) {
          const int v = row < 64 ? a[size_t(row * 64 + k)] : b[size_t((row - 64) * 64 + k)];
          // Both tiles start on 1024-byte boundaries, so one formula suffices.
          tile[size_t(swizzledByte(row, k * 2)) / 2] = uint16_t(encode(v));
        }
      std::vector<float> fd(size_t(n / 2 * 128));
      std::vector<uint32_t> fa(4 * 128);
      for (int thread = 0; thread < 128; thread++) {
        for (int i = 0; i < n / 2; i++)
          fd[size_t(i * 128 + thread)] =
              float(c[size_t(wgmmaRow(thread, i) * n + wgmmaColumn(thread, i))]);
        for (int i = 0; i < 8; i++) {
          const int row = wgmmaARow(thread, i), column = int(step) * 16 + aColumn16(thread % 32, i);
          fa[size_t(i / 2 * 128 + thread)] |= encode(a[size_t(row * 64 + column)]) << (i % 2 * 16);
        }
      }
      KernelSession s("layouts", "fast");
      auto *d = s.put(fd, "d");
      EXPECT_LAUNCHED(s.launch(kernel, {.block = {128}, .dynamicShared = uint32_t(64 + n) * 128}, d,
                               s.put(tile, "tile"), s.put(fa, "a"), step, accumulate));
      for (int thread = 0; thread < 128; thread++)
        for (int i = 0; i < n / 2; i++) {
          const int row = wgmmaRow(thread, i), column = wgmmaColumn(thread, i);
          int want = accumulate ? c[size_t(row * n + column)] : 0;
          for (int k = int(step) * 16; k < int(step) * 16 + 16; k++)
            want += a[size_t(row * 64 + k)] * b[size_t(column * 64 + k)];
          ASSERT_EQ(d[i * 128 + thread], want) << kernel << (registers ? " (registers)" : "")
                                               << " thread " << thread << " sum " << i;
        }
    }
}

/// A has 8-bit codes, four to a word, as in m64nNk32. Its fragments are those of m16n8k32.
void checkWgmmaE4M3(const char *kernel, int n) {
  Random random(53);
  for (uint32_t accumulate : {0u, 1u})
    for (uint32_t step : {0u, 3u}) {
      std::vector<int> a(64 * 128), b(size_t(n * 128)), c(size_t(64 * n));
      for (auto *m : {&a, &b, &c})
        for (int &v : *m)
          v = int(random.word() % 17) - 8; // exact in E4M3
      std::vector<uint8_t> tile(size_t(64 + n) * 128);
      for (int row = 0; row < 64 + n; row++)
        for (int k = 0; k < 128; k++)
          tile[size_t(swizzledByte(row, k))] = uint8_t(
              toE4M3(row < 64 ? a[size_t(row * 128 + k)] : b[size_t((row - 64) * 128 + k)]));
      std::vector<float> fd(size_t(n / 2 * 128));
      std::vector<uint32_t> fa(4 * 128);
      for (int thread = 0; thread < 128; thread++) {
        for (int i = 0; i < n / 2; i++)
          fd[size_t(i * 128 + thread)] =
              float(c[size_t(wgmmaRow(thread, i) * n + wgmmaColumn(thread, i))]);
        for (int i = 0; i < 16; i++) {
          const int row = 16 * (thread / 32 % 4) + aRow8(thread % 32, i),
                    column = int(step) * 32 + aColumn8(thread % 32, i);
          fa[size_t(i / 4 * 128 + thread)] |= toE4M3(a[size_t(row * 128 + column)]) << (i % 4 * 8);
        }
      }
      KernelSession s("layouts", "fast");
      auto *d = s.put(fd, "d");
      EXPECT_LAUNCHED(s.launch(kernel, {.block = {128}, .dynamicShared = uint32_t(64 + n) * 128}, d,
                               s.put(tile, "tile"), s.put(fa, "a"), step, accumulate));
      for (int thread = 0; thread < 128; thread++)
        for (int i = 0; i < n / 2; i++) {
          const int row = wgmmaRow(thread, i), column = wgmmaColumn(thread, i);
          int want = accumulate ? c[size_t(row * n + column)] : 0;
          for (int k = int(step) * 32; k < int(step) * 32 + 32; k++)
            want += a[size_t(row * 128 + k)] * b[size_t(column * 128 + k)];
          ASSERT_EQ(d[i * 128 + thread], want) << kernel << " thread " << thread << " sum " << i;
        }
    }
}

TEST(Layout, Wgmma) {
  checkWgmma("wgmma_ss_8", 8, false, bf16Of);
  checkWgmma("wgmma_ss_64", 64, false, toF16);
  checkWgmma("wgmma_ss_256", 256, false, bf16Of);
  checkWgmma("wgmma_rs_64", 64, true, bf16Of);
  checkWgmmaE4M3("wgmma_ss_e4m3", 64);
  checkWgmmaE4M3("wgmma_rs_e4m3", 64);
}

TEST(Layout, WgmmaDescriptor) {
  KernelSession s("layouts", "fast");
  auto *out = s.make<uint64_t>(3, "out");
  EXPECT_LAUNCHED(s.launch("descriptors", {.dynamicShared = 4096}, out));
  // "Matrix-descriptor format": 13-0 start >> 4, 29-16 leading offset >> 4, 45-32 stride offset >>
  // 4, 51-49 base offset, 63-62 swizzle mode (1: 128 bytes). Dynamic memory starts at 0 here.
  for (int i = 0; i < 3; i++) {
    const uint64_t start = i == 0 ? 0 : i == 1 ? 32 : 1024;
    EXPECT_EQ(out[i] & 0x3fff, start >> 4);
    EXPECT_EQ(out[i] >> 16 & 0x3fff, 1u);
    EXPECT_EQ(out[i] >> 32 & 0x3fff, 1024u >> 4);
    EXPECT_EQ(out[i] >> 49 & 7, 0u);
    EXPECT_EQ(out[i] >> 62, 1u);
  }
}

/// A tensor copy writes the swizzle that wgmma reads.
TEST(Layout, TensorCopyImage) {
  KernelSession s("tensor", "fast");
  std::vector<uint16_t> matrix(16 * 64);
  for (size_t i = 0; i < matrix.size(); i++)
    matrix[i] = uint16_t(i);
  struct alignas(64) Map {
    uint8_t bytes[128];
  } map;
  auto *data = s.put(matrix, "matrix", true);
  for (bool swizzle : {false, true}) {
    ASSERT_TRUE(bool(s.device->encodeTensorMap(&map, {data, 2, 64, 16, 128, 64, 16, swizzle})));
    auto *out = s.make<uint16_t>(16 * 64, "out");
    EXPECT_LAUNCHED(s.launch("tensor_image", {.block = {128}, .dynamicShared = 2048}, out,
                             s.put(std::vector<Map>{map}, "map", true)));
    for (int row = 0; row < 16; row++)
      for (int column = 0; column < 64; column++) {
        const int byte = swizzle ? swizzledByte(row, column * 2) : row * 128 + column * 2;
        ASSERT_EQ(out[byte / 2], row * 64 + column) << row << " " << column;
      }
  }
}

} // namespace
} // namespace ingot::emulator
