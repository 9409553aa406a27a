//===- Matrix.cpp - ldmatrix and mma.sync ----------------------------------===//
#include "emulator/host/MatrixMath.h"
#include "emulator/host/Races.h"
#include "emulator/host/WarpOps.h"

#include <algorithm>
#include <memory>

namespace ingot::emulator {
namespace {

/// The B fragment of 8 columns: value i of word h of lane (g, c) is B(h * half + per * c + i, g).
template <emu::Product Kind> void gatherB(const Fiber *lanes, u32 column, Eight *b) {
  constexpr int kPer = valuesPerWord(Kind), kHalf = 4 * kPer;
  for (int l = 0; l < 32; l++) {
    const u32 *words = static_cast<const u32 *>(lanes[l].operand[2]) + column * 2;
    for (int h = 0; h < 2; h++) {
      float values[4];
      unpack(Kind, words[h], values);
      for (int i = 0; i < kPer; i++)
        b[h * kHalf + l % 4 * kPer + i][l / 4] = values[i];
    }
  }
}

/// The A fragment of 16 rows: word h of lane (g, c) is A(g + 8 (h % 2), half (h / 2) + per * c…).
template <emu::Product Kind> void gatherA(const Fiber *lanes, u32 tile, float (*a)[32]) {
  constexpr int kPer = valuesPerWord(Kind), kHalf = 4 * kPer;
  for (int l = 0; l < 32; l++) {
    const u32 *words = static_cast<const u32 *>(lanes[l].operand[1]) + tile * 4;
    for (int h = 0; h < 4; h++)
      unpack(Kind, words[h], &a[l / 4 + h % 2 * 8][h / 2 * kHalf + l % 4 * kPer]);
  }
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

constexpr u32 kMostColumns = 32; ///< tiles of 8 columns, as mma_tile asserts

template <emu::Product Kind> void multiplyWarp(const Fiber *lanes, u32 m, u32 n) {
  constexpr int kSteps = 8 * valuesPerWord(Kind);
  // The columns are not on the stack, since that is the small stack of a kernel thread. They are allocated
  // rather than thread_local themselves, since a library that is opened at run time has less than 2 KB of
  // static TLS.
  struct Columns {
    Eight tiles[kMostColumns][kSteps];
  };
  static thread_local std::unique_ptr<Columns> columns;
  if (!columns)
    columns = std::make_unique<Columns>();
  auto &b = columns->tiles;
  for (u32 j = 0; j < n; j++)
    gatherB<Kind>(lanes, j, b[j]);
  for (u32 i = 0; i < m; i++) {
    float a[16][32];
    gatherA<Kind>(lanes, i, a);
    for (u32 j = 0; j < n; j++) {
      Eight sums[16] = {};
      if constexpr (Kind == emu::Product::S8) { // exact in f32 within a step, i32 across steps
        multiplyTile<kSteps>(sums, a, b[j]);
        addToSums<int>(lanes, i * n + j, sums);
      } else {
        loadSums(lanes, i * n + j, sums);
        multiplyTile<kSteps>(sums, a, b[j]);
        storeSums(lanes, i * n + j, sums);
      }
    }
  }
}

void multiplyWarp(emu::Product kind, const Fiber *lanes, u32 m, u32 n) {
  switch (kind) {
  case emu::Product::Bf16:
    return multiplyWarp<emu::Product::Bf16>(lanes, m, n);
  case emu::Product::F16:
    return multiplyWarp<emu::Product::F16>(lanes, m, n);
  case emu::Product::S8:
    return multiplyWarp<emu::Product::S8>(lanes, m, n);
  case emu::Product::E4M3:
    return multiplyWarp<emu::Product::E4M3>(lanes, m, n);
  }
}

/// Word `lane` of a matrix as returned by ldmatrix; rows[r] holds row r.
template <bool Transposed> u32 matrixWord(const Fiber *rows, u32 lane) {
  const u32 r = lane / 4, c = lane % 4 * 2;
  auto at = [&](u32 row, u32 column) {
    return static_cast<const u16 *>(rows[row].operand[1])[column];
  };
  return Transposed ? at(c, r) | u32(at(c + 1, r)) << 16 : at(r, c) | u32(at(r, c + 1)) << 16;
}

void wantWholeWarp(Fiber &fiber, Site site) {
  if (fiber.warp->all != ~0u)
    fail(fiber, Rule::BadOperand, "a warp of fewer than 32 threads", Where(site));
}

} // namespace
} // namespace ingot::emulator

using namespace ingot::emulator;

namespace emu {
inline namespace v1 {

Switch loadMatrix(u32 *registers, const void *row, u32 matrices, bool transposed, Site site) {
  Fiber &fiber = *self;
  wantWholeWarp(fiber, site);
  fiber.operand[0] = registers;
  fiber.operand[1] = const_cast<void *>(row);
  if (fiber.lane < 8 * matrices) { // the other lanes' addresses are ignored
    u32 place;
    if (!inShared(fiber, row, place) || place % 16)
      fail(fiber, Rule::Misaligned, "ldmatrix: a row must be 16-byte aligned shared memory",
           Where(site));
    if (isChecked(fiber))
      sharedAccess(asThread(fiber), place, 16, false, Where(site));
  }
  return meet(WarpOp::LoadMatrix, site, [=](Fiber *lanes) {
    for (u32 i = 0; i < matrices; i++)
      for (u32 l = 0; l < 32; l++)
        static_cast<u32 *>(lanes[l].operand[0])[i] =
            transposed ? matrixWord<true>(lanes + 8 * i, l) : matrixWord<false>(lanes + 8 * i, l);
  });
}

Switch multiply(Product kind, void *d, const u32 *a, const u32 *b, u32 m, u32 n, Site site) {
  Fiber &fiber = *self;
  wantWholeWarp(fiber, site);
  fiber.operand[0] = d;
  fiber.operand[1] = const_cast<u32 *>(a);
  fiber.operand[2] = const_cast<u32 *>(b);
  return meet(WarpOp::Multiply, site,
              [=](Fiber *lanes) { multiplyWarp(kind, lanes, m, std::min(n, kMostColumns)); });
}

} // namespace v1
} // namespace emu
