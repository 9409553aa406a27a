//===- DummyWeights.h - Weights generated from a seed ---------------------===//
//
// `--weights random` packs dummy weights into an engine; `--weights seed` lets the
// device that loads the engine generate them. Both use the values defined here, so the two engines compute the same
// results. A device with another layout computes the same results as well. Weight (n, k) of tensor t depends on (seed,
// t, n, k) and the format, never on its place, on threads or on the order of filling. The formula is 64-bit integer
// arithmetic modulo 2^64. A kernel that fills weights is a loop over words:
//
//   mix(z)   splitmix64: add 0x9e3779b97f4a7c15, then two rounds of xor-shift and
//            multiply (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
//            Generators", OOPSLA 2014)
//   row  = mix(mix(seed ^ mix(t)) ^ (2 * n + plane))
//   word = mix(row + i * 0x9e3779b97f4a7c15)
//
// A row has two planes of words. Value k takes these bits:
//
//   plane  for             word i   bits of value k
//   0      8-bit codes     k/8      8 from 8*(k%8)                        q (fp8: & 0xbf)
//   0      2 to 6 bits     k/16     4 from 8*(k%8) + 4*(k/8%2)            low bits of q; all for 2 and 3 bits
//   1      5 bits          k/64     1 from 32*(k/32%2) + 8*(k%4) + k%32/4     upper bit
//   1      6 bits          k/32     2 from 32*(k/16%2) + 8*(k%4) + 2*(k%16/4) upper bits
//   0      floats          k/4      15 from 16*(k%4): five fields of 3 bits
//
// (This is the order of PanelLayout.h inside a line, so a panel is filled with masks and
// 32-bit stores. Other layouts extract each value with one shift.)
//
// If the layouts of a format cannot hold every code (NumericFormat::Packing), the format takes four bits c per value,
// as above. In base 3, q = c % 3. If a code has only bit 1, q = c & 2. A grid's index consists of the lower three bits
// of each c of the run, with the first c in the lowest bits, modulo the number of entries. The sign is bit 3 of the
// value's c. If a run or a group of 32 has one sign, it is bit 3 of the first c of the run or group. No model
// configuration names these formats; the compiler's self-check uses them.
//
// A float is (2 * S - 35) / 512, where S is the sum of its five fields: nearly normal,
// with mean 0 and standard deviation 0.0200, and exact in f32, f16 and bf16 alike. Codes are
// uniform; scales are constants of the format (seedScales) that make the deviation
// 0.0200 and the mean 0. A minimum subtracts the middle of the codes. Without a minimum, the
// codes' mean is half a step below their zero point. The sign of d therefore alternates from
// block to block and from row to row, so that these half steps cancel in sums over K or N.
//
// An fp8 code without bit 6 is a number below 2 and never NaN; all scales are kSeedFp8Scale.
//
//   d of (n, k) = scales.d with the sign bit flipped if zeroPoint != 0 or there are zero points,
//                 and n + k / format.block() is odd
//
// Padding is PanelLayout.h's: rows n >= N are zero bytes, codes with k >= K are the zero point (0 for formats
// with a table). If Packing is not Planes, codes with k >= K have no bits set, except that a grid run that begins
// before K is complete. A vector is all ones.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/FragmentLayout.h"

#include <cstddef>
#include <span>

namespace ingot {

constexpr uint64_t kSeedStep = 0x9e3779b97f4a7c15;

constexpr uint64_t seedMix(uint64_t z) {
  z += kSeedStep;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// `row` of the formula above.
constexpr uint64_t seedRow(uint64_t seed, uint64_t tensor, uint64_t n, uint64_t plane) {
  return seedMix(seedMix(seed ^ seedMix(tensor)) ^ (2 * n + plane));
}

/// Returns word `i` of a row.
constexpr uint64_t seedWord(uint64_t row, uint64_t i) { return seedMix(row + i * kSeedStep); }

/// The scales of a quantised format, as NumericFormat.h names them.
struct SeedScales {
  uint16_t d;   ///< f16 bits, before the sign
  uint16_t m;   ///< f16 bits of m or dmin
  uint8_t s, t; ///< the same for every sub-block
};
SeedScales seedScales(WeightFormat format);

/// Returns the index of the grid entry of a run, from the four bits `c` of each of its values.
constexpr int seedIndex(const Grid &grid, const uint8_t *c) {
  unsigned index = 0;
  for (int i = 0; i < grid.run; ++i)
    index |= (c[i] & 7u) << 3 * i;
  return static_cast<int>(index % static_cast<unsigned>(grid.count()));
}

constexpr uint8_t kSeedFp8Mask = 0xbf;
constexpr float kSeedFp8Scale = 0x1.119p-5f; ///< times the codes' deviation, 0.598: 0.0200

/// Fills in the scales of a quantised panel or tile, number `index` of the weight.
void fillSeedScales(const PanelLayout &layout, int64_t index, std::byte *panel);
void fillSeedScales(const FragmentLayout &layout, int64_t index, std::byte *tile);

/// Fills panels [first, first + out.size() / layout.panelBytes()) of tensor `tensor`. `out` is
/// zeroed and aligned to 4 bytes.
void fillSeedPanels(uint64_t seed, uint64_t tensor, const PanelLayout &layout, int64_t first,
                    std::span<std::byte> out);

/// Fills tiles [first, first + out.size() / layout.tileBytes()) with the same values, for GPUs. `out` is zeroed.
void fillSeedFragments(uint64_t seed, uint64_t tensor, const FragmentLayout &layout, int64_t first,
                       std::span<std::byte> out);

/// Fills a vector of `n` values with ones. `out` is zeroed.
void fillSeedVector(int64_t n, std::span<std::byte> out);

} // namespace ingot
