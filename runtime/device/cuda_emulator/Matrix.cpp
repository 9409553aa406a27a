//===- Matrix.cpp - ldmatrix and mma.sync ----------------------------------===//
#include "runtime/device/cuda_emulator/MatrixMath.h"
#include "runtime/device/cuda_emulator/Meetings.h"
#include "runtime/device/cuda_emulator/Races.h"

#include <algorithm>

namespace ingot::emulator {
namespace {

/// The B fragment of 8 columns: value i of word h of lane (g, c) is B(h * half + perWord * c + i,
/// g).
void gatherB(emu::Product kind, const Fiber *lanes, u32 column, Eight *b) {
  const int per = valuesPerWord(kind), half = 4 * per;
  for (int l = 0; l < 32; l++)
    for (int h = 0; h < 2; h++) {
      float values[4];
      unpack(kind, static_cast<const u32 *>(lanes[l].operand[2])[column * 2 + h], values);
      for (int i = 0; i < per; i++)
        b[h * half + l % 4 * per + i][l / 4] = values[i];
    }
}

/// The A fragment of 16 rows: word h of lane (g, c) is A(g + 8 (h % 2), half (h / 2) + perWord *
/// c…).
void gatherA(emu::Product kind, const Fiber *lanes, u32 tile, float (*a)[32]) {
  const int per = valuesPerWord(kind), half = 4 * per;
  for (int l = 0; l < 32; l++)
    for (int h = 0; h < 4; h++)
      unpack(kind, static_cast<const u32 *>(lanes[l].operand[1])[tile * 4 + h],
             &a[l / 4 + h % 2 * 8][h / 2 * half + l % 4 * per]);
}

template <class T> void addToSums(const Fiber *lanes, u32 at, const Eight (&sums)[16]) {
  for (u32 l = 0; l < 32; l++) {
    T *d = static_cast<T *>(lanes[l].operand[0]) + at * 4;
    const u32 row = l / 4, column = l % 4 * 2;
    d[0] += T(sums[row][column]);
    d[1] += T(sums[row][column + 1]);
    d[2] += T(sums[row + 8][column]);
    d[3] += T(sums[row + 8][column + 1]);
  }
}

void loadSums(const Fiber *lanes, u32 at, Eight (&sums)[16]) {
  for (u32 l = 0; l < 32; l++) {
    const float *d = static_cast<const float *>(lanes[l].operand[0]) + at * 4;
    const u32 row = l / 4, column = l % 4 * 2;
    sums[row][column] = d[0];
    sums[row][column + 1] = d[1];
    sums[row + 8][column] = d[2];
    sums[row + 8][column + 1] = d[3];
  }
}

void storeSums(const Fiber *lanes, u32 at, const Eight (&sums)[16]) {
  for (u32 l = 0; l < 32; l++) {
    float *d = static_cast<float *>(lanes[l].operand[0]) + at * 4;
    const u32 row = l / 4, column = l % 4 * 2;
    d[0] = sums[row][column];
    d[1] = sums[row][column + 1];
    d[2] = sums[row + 8][column];
    d[3] = sums[row + 8][column + 1];
  }
}

constexpr u32 kMostColumns = 32; ///< tiles of 8, as mma_tile asserts

void multiplyWarp(emu::Product kind, const Fiber *lanes, u32 m, u32 n) {
  const int k = 8 * valuesPerWord(kind);
  Eight b[kMostColumns][32];
  for (u32 j = 0; j < n; j++)
    gatherB(kind, lanes, j, b[j]);
  for (u32 i = 0; i < m; i++) {
    float a[16][32];
    gatherA(kind, lanes, i, a);
    for (u32 j = 0; j < n; j++) {
      Eight sums[16] = {};
      if (kind == emu::Product::S8) { // exact in f32 within a step, i32 across
        multiplyTile(sums, a, b[j], k);
        addToSums<int>(lanes, i * n + j, sums);
        continue;
      }
      loadSums(lanes, i * n + j, sums);
      multiplyTile(sums, a, b[j], k);
      storeSums(lanes, i * n + j, sums);
    }
  }
}

} // namespace
} // namespace ingot::emulator

using namespace ingot::emulator;

namespace emu {
inline namespace v1 {

Switch loadMatrix(u32 *registers, const void *row, u32 matrices, bool transposed, Site site) {
  Fiber &fiber = *self;
  fiber.operand[0] = registers;
  fiber.operand[1] = const_cast<void *>(row);
  if (fiber.lane < 8 * matrices) { // the other lanes' addresses are not looked at
    u32 place;
    if (!inShared(fiber, row, place) || place % 16)
      fail(fiber, Rule::Misaligned, "ldmatrix: a row must be 16-byte aligned shared memory",
           Where(site));
    if (isChecked(fiber))
      sharedAccess(asThread(fiber), place, 16, false, Where(site));
  }
  return meet(Meeting::LoadMatrix, site, [=](Fiber *lanes) {
    u16 values[4][8][8];
    for (u32 i = 0; i < 8 * matrices; i++)
      memcpy(values[i / 8][i % 8], lanes[i].operand[1], 16);
    for (u32 l = 0; l < 32; l++)
      for (u32 i = 0; i < matrices; i++) {
        const u32 r = l / 4, c = l % 4 * 2;
        const u16 lo = transposed ? values[i][c][r] : values[i][r][c];
        const u16 hi = transposed ? values[i][c + 1][r] : values[i][r][c + 1];
        static_cast<u32 *>(lanes[l].operand[0])[i] = lo | u32(hi) << 16;
      }
  });
}

Switch multiply(Product kind, void *d, const u32 *a, const u32 *b, u32 m, u32 n, Site site) {
  Fiber &fiber = *self;
  fiber.operand[0] = d;
  fiber.operand[1] = const_cast<u32 *>(a);
  fiber.operand[2] = const_cast<u32 *>(b);
  return meet(Meeting::Multiply, site,
              [=](Fiber *lanes) { multiplyWarp(kind, lanes, m, std::min(n, kMostColumns)); });
}

} // namespace v1
} // namespace emu
