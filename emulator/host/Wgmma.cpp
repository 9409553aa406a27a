//===- Wgmma.cpp - wgmma, computed when awaited -----------------------------===//
//
// wgmma only records the request; wgmma_wait computes it, warp by warp. Until then a thread's sums are NaN,
// and the warpgroup's engine counts as reading the tiles. The A registers are copied when the wgmma is issued, so a
// kernel that changes them too early is not detected.
//===----------------------------------------------------------------------===//
#include "emulator/host/MatrixMath.h"
#include "emulator/host/Races.h"
#include "emulator/host/WarpOps.h"

#include <algorithm>

namespace ingot::emulator {
namespace {

// Matrix descriptor, PTX ISA "Shared memory matrix layout": bits 0-13: start / 16; 32-45: stride between
// groups of eight rows / 16; 62-63: swizzle (1: 128 bytes).
constexpr u64 kSwizzle128 = 1ull << 62;

/// Returns the offset in the block's window of the 16-byte-aligned `byte` of row `row`. As in hardware, the swizzle
/// applies to address bits.
u32 tileByte(u64 descriptor, u32 row, u32 byte) {
  const u32 start = u32(descriptor & 0x3fff) * 16, stride = u32(descriptor >> 32 & 0x3fff) * 16;
  const u32 address = start + row / 8 * stride + row % 8 * 128 + byte;
  return address ^ (address >> 3 & 0x70);
}

/// Returns the extent of K of one wgmma, which is 32 bytes of a row.
u32 stepOf(emu::Product kind) { return 8 * u32(valuesPerWord(kind)); }

/// Loads the 16 values (fp8: 32) of a step of one row.
void loadRow(emu::Product kind, const Block &block, u64 descriptor, u32 row, float *values) {
  for (u32 half = 0; half < 2; half++) {
    u32 words[4];
    memcpy(words, block.shared + tileByte(descriptor, row, half * 16), 16);
    for (u32 i = 0; i < 4; i++)
      unpack(kind, words[i], values + (half * 4 + i) * u32(valuesPerWord(kind)));
  }
}

void gatherA(Fiber *lanes, size_t index, float (*a)[32]) {
  const WgmmaProduct &product = lanes->products[index];
  if (product.fromRegisters) {
    const u32 per = u32(valuesPerWord(product.kind));
    for (u32 l = 0; l < 32; l++)
      for (u32 h = 0; h < 4; h++)
        unpack(product.kind, lanes[l].products[index].registers[h],
               &a[l / 4 + h % 2 * 8][(h / 2 * 4 + l % 4) * per]);
    return;
  }
  const u32 firstRow = lanes->warp->index % 4 * 16;
  for (u32 row = 0; row < 16; row++)
    loadRow(product.kind, *lanes->block, product.a, firstRow + row, a[row]);
}

/// Computes one wgmma for the 16 rows of a warp.
void multiplyWarp(Fiber *lanes, size_t index) {
  const WgmmaProduct &product = lanes->products[index];
  const u32 step = stepOf(product.kind);
  float a[16][32];
  gatherA(lanes, index, a);
  for (u32 j = 0; j < product.n / 8; j++) {
    Eight b[32], sums[16] = {};
    for (u32 column = 0; column < 8; column++) {
      float values[32];
      loadRow(product.kind, *lanes->block, product.b, j * 8 + column, values);
      for (u32 k = 0; k < step; k++)
        b[k][column] = values[k];
    }
    for (u32 l = 0; l < 32 && product.accumulate; l++) {
      const float *d = lanes[l].products[index].d + j * 4;
      for (u32 e = 0; e < 4; e++)
        sums[l / 4 + e / 2 * 8][l % 4 * 2 + e % 2] = d[e];
    }
    step == 32 ? multiplyTile<32>(sums, a, b) : multiplyTile<16>(sums, a, b);
    for (u32 l = 0; l < 32; l++) {
      float *d = lanes[l].products[index].d + j * 4;
      for (u32 e = 0; e < 4; e++)
        d[e] = sums[l / 4 + e / 2 * 8][l % 4 * 2 + e % 2];
    }
  }
}

/// Saves the sums and replaces them by NaN until the wgmma is done.
void hold(Fiber &fiber, float *d, u32 count) {
  for (const WgmmaSums &held : fiber.held)
    if (held.d == d)
      return;
  fiber.held.push_back({d, count, fiber.sums.size()});
  fiber.sums.insert(fiber.sums.end(), d, d + count);
  memset(d, 0xff, count * sizeof(float));
}

void giveBack(Fiber &fiber) {
  for (const WgmmaSums &held : fiber.held)
    memcpy(held.d, &fiber.sums[held.at], held.count * sizeof(float));
  fiber.held.clear();
  fiber.sums.clear();
}

bool isSame(const WgmmaProduct &x, const WgmmaProduct &y) {
  return x.kind == y.kind && x.a == y.a && x.b == y.b && x.n == y.n && x.group == y.group &&
         x.fromRegisters == y.fromRegisters && x.accumulate == y.accumulate;
}

/// Returns how many wgmma of a warp must be done if at most `left` groups may still be in flight.
size_t countFinished(Fiber *lanes, u32 left, Site site) {
  Fiber &first = lanes[0];
  size_t finished = 0;
  while (finished < first.products.size() &&
         first.products[finished].group + left < first.productGroup)
    finished++;
  for (u32 l = 1; l < 32; l++) {
    bool same = lanes[l].products.size() == first.products.size();
    for (size_t i = 0; i < finished && same; i++)
      same = isSame(lanes[l].products[i], first.products[i]);
    if (!same)
      fail(*self, Rule::DivergentWarp, "lanes of a warp issued different wgmma products",
           Where(site));
  }
  return finished;
}

void finish(Fiber *lanes, u32 left, Site site) {
  const size_t finished = countFinished(lanes, left, site);
  for (u32 l = 0; l < 32; l++)
    giveBack(lanes[l]);
  for (size_t i = 0; i < finished; i++)
    multiplyWarp(lanes, i);
  const u32 engine = tensorEngine(*lanes->block, lanes->warp->index / 4);
  for (u32 l = 0; l < 32; l++) {
    Fiber &fiber = lanes[l];
    if (finished && isChecked(fiber)) {
      u32 &known = ownRow(fiber)[engine];
      known = std::max(known, fiber.products[finished - 1].clock);
    }
    fiber.products.erase(fiber.products.begin(), fiber.products.begin() + ptrdiff_t(finished));
    for (const WgmmaProduct &product : fiber.products)
      hold(fiber, product.d, product.n / 2);
    fiber.wgmmaFenced = !fiber.products.empty();
  }
}

void checkTile(Fiber &fiber, u64 descriptor, u32 rows, u32 clock, Site site) {
  const u32 base = fiber.block->rank * kWindow;
  const Actor actor{fiber, tensorEngine(*fiber.block, fiber.id / 128), clock, /*engine=*/true};
  for (u32 row = 0; row < rows; row++)
    for (u32 half = 0; half < 2; half++)
      sharedAccess(actor, base + tileByte(descriptor, row, half * 16), 16, false, Where(site));
}

} // namespace
} // namespace ingot::emulator

using namespace ingot::emulator;

namespace emu {
inline namespace v1 {

u64 wgmmaDescriptor(const void *tile, Site site) {
  Fiber &fiber = *self;
  u32 place;
  // A tile may start at any k step within its first row.
  if (!inShared(fiber, tile, place) || place / kWindow != fiber.block->rank || place % 16 ||
      place % 1024 >= 128)
    fail(fiber, Rule::Misaligned, "a wgmma tile must start on a 1024-byte line of shared memory",
         Where(site));
  return u64(place % kWindow >> 4) | 1ull << 16 | 64ull << 32 | kSwizzle128;
}

void wgmma(Product kind, float *d, const u32 *registers, u64 a, u64 b, u32 n, bool accumulate,
           Site site) {
  Fiber &fiber = *self;
  if (fiber.block->cluster->threads < (fiber.id / 128 + 1) * 128)
    fail(fiber, Rule::BadOperand, "wgmma needs four whole warps", Where(site));
  if ((b & 3ull << 62) != kSwizzle128 || (!registers && (a & 3ull << 62) != kSwizzle128))
    fail(fiber, Rule::BadOperand, "wgmma: not a descriptor of wgmma_descriptor", Where(site));
  if (!fiber.wgmmaFenced)
    report(fiber, Rule::MissingWgmmaFence,
           "no wgmma_fence between the registers' last use and the product", Where(site));
  hold(fiber, d, n / 2);
  const u32 clock = ++fiber.productClock; // equal in all threads of the warpgroup
  if (isChecked(fiber) && fiber.id % 128 == 0) {
    if (!registers)
      checkTile(fiber, a, 64, clock, site);
    checkTile(fiber, b, n, clock, site);
  }
  WgmmaProduct product{kind, d, a, b, {}, registers != nullptr, accumulate, n, fiber.productGroup,
                       clock};
  if (registers)
    memcpy(product.registers, registers, sizeof product.registers);
  fiber.products.push_back(product);
}

void wgmmaFence(Site) { self->wgmmaFenced = true; }
void wgmmaCommit() { self->productGroup++; }

Switch wgmmaWait(u32 left, Site site) {
  return meet(WarpOp::WgmmaWait, site, [=](Fiber *lanes) { finish(lanes, left, site); });
}

} // namespace v1
} // namespace emu
