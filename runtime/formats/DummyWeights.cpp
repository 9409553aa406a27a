//===- DummyWeights.cpp - Fills panels with generated weights -------------===//
//
// The inner loop runs over the rows of a panel, so a group's lines are written while
// they are in the L1 cache. A word takes two multiplications and has the bits of several
// values. Apart from that, values take only masks and stores.
//===----------------------------------------------------------------------===//
#include "runtime/formats/DummyWeights.h"
#include "runtime/formats/SeedGroup.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

using namespace ingot;

// For uniformly distributed b-bit codes d is 71/64 * 2^(-4-b): times their standard deviation,
// sqrt((4^b - 1) / 12), this is 0.0200. K-quants split it into d * s. m is minus d times
// the codes' mean (7.5 for 4 bits, 15.5 for 5, 127.5 for 8); dmin * t is d * s times
// the mean.
SeedScales ingot::seedScales(WeightFormat format) {
  switch (format) {
  case WeightFormat::F32:
  case WeightFormat::F16:
  case WeightFormat::BF16:
  case WeightFormat::Fp8Tensor: // kSeedFp8Scale
  case WeightFormat::Fp8:
  case WeightFormat::Fp8Block128:
    return {};
  case WeightFormat::Q4_0:
  case WeightFormat::Int4G32:
  case WeightFormat::Int4G64:
  case WeightFormat::Int4G128:
  case WeightFormat::Int4BG32:
  case WeightFormat::Int4BG128:
    return {0x1c70, 0, 0, 0};
  case WeightFormat::Int4ZG32:
  case WeightFormat::Int4ZG64:
  case WeightFormat::Int4ZG128:
  case WeightFormat::Int4ZBG32:
  case WeightFormat::Int4ZBG128:
  case WeightFormat::Int4ZFG32:
    return {0x1c70, 0, 0, 8};
  case WeightFormat::Q4_1:
    return {0x1c70, 0xa829, 0, 0};
  case WeightFormat::Int4MG32:
  case WeightFormat::Int4MG64:
  case WeightFormat::Int4MBG32: // the same in bf16
  case WeightFormat::Int4MBG64:
    return {0x1c70, 0xa828, 0, 0};
  case WeightFormat::Int8MG32:
  case WeightFormat::Int8MBG32:
    return {0x0c70, 0xa868, 0, 0};
  case WeightFormat::Q5_0:
    return {0x1870, 0, 0, 0};
  case WeightFormat::Q5_1:
    return {0x1870, 0xa84c, 0, 0};
  case WeightFormat::Q8_0:
  case WeightFormat::Int8:
  case WeightFormat::Int8F:
    return {0x0c70, 0, 0, 0};
  case WeightFormat::Int8ZF:
    return {0x0c70, 0, 0, 128};
  case WeightFormat::Q2_K:
    return {0x1890, 0x1890, 8, 12};
  case WeightFormat::Q3_K:
    return {0x145e, 0, 8, 0};
  case WeightFormat::IQ4_NL: // the standard deviation of the table's values is 67.4
    return {0x0cdc, 0, 0, 0};
  case WeightFormat::IQ4_XS:
    return {0x04dc, 0, 4, 0};
  case WeightFormat::IQ3_S: // the other tables: deviation over all entries of a grid and both signs
    return {0x0ccb, 0, 9, 0};
  case WeightFormat::IQ3_XXS:
    return {0x04b9, 0, 9, 0};
  case WeightFormat::IQ2_S:
    return {0x05f6, 0, 9, 0};
  case WeightFormat::IQ2_XS:
    return {0x0604, 0, 9, 0};
  case WeightFormat::IQ2_XXS:
    return {0x064d, 0, 9, 0};
  case WeightFormat::IQ1_S:
  case WeightFormat::IQ1_M:
    return {0x0dd4, 0, 9, 0};
  case WeightFormat::TQ1_0: // of 16 values six are -1, five 0 and five 1
    return {0x262d, 0, 0, 0};
  case WeightFormat::Q1_0: // all are -1 or 1
    return {0x251f, 0, 0, 0};
  case WeightFormat::TQ2_0:
  case WeightFormat::Q2_0:
    return {0x242e, 0, 0, 0};
  case WeightFormat::Mxfp4: // deviation 5.85
    return {0x1b00, 0, 0, 0};
  case WeightFormat::Nvfp4: // s is 1 in E4M3
    return {0x1b00, 0, 0x38, 0};
  case WeightFormat::Nf4: // deviations 63.8 (Nf4) and 58.5 (Fp4)
    return {0x0d25, 0, 0, 0};
  case WeightFormat::Fp4:
    return {0x0d9b, 0, 0, 0};
  case WeightFormat::Q4_K:
    return {0x0870, 0x1070, 32, 60};
  case WeightFormat::Q5_K:
    return {0x0470, 0x1070, 32, 62};
  case WeightFormat::Q6_K:
    return {0x0470, 0, 16, 0};
  }
  return {};
}

namespace {

constexpr uint64_t kLowNibbles = 0x0f0f0f0f0f0f0f0f;

/// Masks of the bits of a group's words that are codes of the weight; `fill` has the zero point for the others.
struct GroupMask {
  std::array<uint64_t, 4> keep, fill; ///< plane 0: 2 words of nibbles or 4 of bytes
  uint64_t keepUpper, fillUpper;      ///< plane 1, shifted to the group's first bit
};

constexpr GroupMask kWholeGroup = {{~0ull, ~0ull, ~0ull, ~0ull}, {}, ~0ull, 0};

/// Returns the mask of a group of which only the first `count` codes exist.
GroupMask maskOfRest(const NumericFormat &format, int64_t count) {
  GroupMask mask{};
  uint64_t zero = static_cast<uint64_t>(format.table ? 0 : format.zeroPoint);
  for (int64_t k = 0; k < kGroupK; ++k) {
    auto set = [&](uint64_t &keep, uint64_t &fill, int bits, int64_t shift, uint64_t code) {
      uint64_t ones = (uint64_t(1) << bits) - 1;
      (k < count ? keep : fill) |= (k < count ? ones : code & ones) << shift;
    };
    if (format.bits == 8)
      set(mask.keep[k / 8], mask.fill[k / 8], 8, 8 * (k % 8), zero);
    else
      set(mask.keep[k / 16], mask.fill[k / 16], 4, 8 * (k % 8) + 4 * (k / 8 % 2), zero);
    if (format.bits == 5)
      set(mask.keepUpper, mask.fillUpper, 1, 8 * (k % 4) + k / 4, zero >> 4);
    if (format.bits == 6)
      set(mask.keepUpper, mask.fillUpper, 2, 32 * (k / 16) + 8 * (k % 4) + 2 * (k % 16 / 4),
          zero >> 4);
  }
  return mask;
}

/// One panel of a weight; `rows` of its 32 rows exist.
class SeedPanel {
public:
  SeedPanel(uint64_t seed, uint64_t tensor, const PanelLayout &layout, int64_t index,
            std::byte *bytes)
      : layout(layout), format(numericFormat(layout.format)), bytes(bytes),
        rows(layout.rowsOf(index).count), index(index),
        rest(maskOfRest(format, layout.k % kGroupK)) {
    const int64_t firstRow = layout.rowsOf(index).first;
    for (int64_t r = 0; r < rows; ++r)
      for (int plane = 0; plane < 2; ++plane)
        keys[plane][r] = seedRow(seed, tensor, static_cast<uint64_t>(firstRow + r), plane);
  }

  void fill() {
    switch (layout.format) {
    case WeightFormat::F32:
      return floats<uint32_t>([](float w) { return std::bit_cast<uint32_t>(w); });
    case WeightFormat::F16:
      return floats<uint16_t>(
          [](float w) { return std::bit_cast<uint16_t>(static_cast<_Float16>(w)); });
    case WeightFormat::BF16:
      return bf16Pairs();
    default:
      break;
    }
    fillSeedScales(layout, index, bytes);
    if (format.isScaledFloat())
      return scaledFloats();
    for (int64_t block = 0; block < layout.blocks; ++block) {
      if (format.packing != NumericFormat::Packing::Planes) {
        packedCodes(block);
        continue;
      }
      switch (format.bits) {
      case 2:
        codes<2>(block);
        break;
      case 3:
        codes<3>(block);
        break;
      case 4:
        codes<4>(block);
        break;
      case 5:
        codes<5>(block);
        break;
      case 6:
        codes<6>(block);
        break;
      default:
        codes<8>(block);
        break;
      }
    }
  }

private:
  /// Writes codes that do not lie in bit planes, one by one.
  void packedCodes(int64_t block) {
    const int64_t first = block * layout.blockK, end = std::min(first + layout.blockK, layout.k);
    std::byte *const to = bytes + block * layout.blockBytes;
    for (int64_t from = first; from < end; from += kGroupK)
      for (int64_t r = 0; r < rows; ++r) {
        uint8_t c[kGroupK];
        for (int64_t i = 0; i < kGroupK; ++i)
          c[i] = seedWord(keys[0][r], static_cast<uint64_t>(from / 16 + i / 16)) >>
                     (8 * (i % 8) + 4 * (i / 8 % 2)) &
                 15;
        putSeedGroup(layout, format, r, from - first, std::min(kGroupK, end - from), c, to);
      }
  }

  template <int kBits> void codes(int64_t block) {
    const int64_t groups = layout.blockK / kGroupK;
    for (int64_t i = 0; i < groups; ++i) {
      const int64_t group = block * groups + i, left = layout.k - group * kGroupK;
      std::byte *to =
          bytes + block * layout.blockBytes + layout.codeOffset + i * layout.groupCodeBytes;
      if (left >= kGroupK)
        codesOfGroup<kBits>(to, group, kWholeGroup);
      else if (left > 0)
        codesOfGroup<kBits>(to, group, rest);
      else
        codesOfGroup<kBits>(to, group, maskOfRest(format, 0));
    }
  }

  template <int kBits>
  void codesOfGroup(std::byte *start, int64_t group, const GroupMask &mask) const {
    for (int64_t r = 0; r < rows; ++r) {
      std::byte *upperLines = start + r * 4, *to = upperLines + upperBitsOf(kBits) * kPanelLine;
      if constexpr (kBits == 8) {
        for (int w = 0; w < 4; ++w) {
          uint64_t word = lowWord(r, group * 4 + w, w, mask);
          putBits(to + 2 * w * kPanelLine, static_cast<uint32_t>(word));
          putBits(to + (2 * w + 1) * kPanelLine, static_cast<uint32_t>(word >> 32));
        }
        continue;
      }
      uint64_t front = lowWord(r, group * 2, 0, mask), back = lowWord(r, group * 2 + 1, 1, mask);
      if constexpr (kBits < 4) { // the lower bits of the nibbles, one by one
        for (int64_t i = 0; i < kGroupK; ++i) {
          const uint64_t nibble = (i < 16 ? front : back) >> (8 * (i % 8) + 4 * (i / 8 % 2));
          putCode(codeInGroup(kBits, r, i), kBits, start,
                  static_cast<int>(nibble & ((1 << kBits) - 1)));
        }
        continue;
      }
      uint64_t lines01 = (front & kLowNibbles) | (back & kLowNibbles) << 4;
      uint64_t lines23 = (front >> 4 & kLowNibbles) | (back & ~kLowNibbles);
      putBits(to, static_cast<uint32_t>(lines01));
      putBits(to + kPanelLine, static_cast<uint32_t>(lines01 >> 32));
      putBits(to + 2 * kPanelLine, static_cast<uint32_t>(lines23));
      putBits(to + 3 * kPanelLine, static_cast<uint32_t>(lines23 >> 32));
      if constexpr (kBits == 5) {
        uint64_t upper = seedWord(keys[1][r], static_cast<uint64_t>(group / 2)) >> 32 * (group % 2);
        putBits(upperLines, static_cast<uint32_t>((upper & mask.keepUpper) | mask.fillUpper));
      } else if constexpr (kBits == 6) {
        uint64_t upper = seedWord(keys[1][r], static_cast<uint64_t>(group));
        upper = (upper & mask.keepUpper) | mask.fillUpper;
        putBits(upperLines, static_cast<uint32_t>(upper));
        putBits(upperLines + kPanelLine, static_cast<uint32_t>(upper >> 32));
      }
    }
  }

  uint64_t lowWord(int64_t row, int64_t i, int w, const GroupMask &mask) const {
    return (seedWord(keys[0][row], static_cast<uint64_t>(i)) & mask.keep[w]) | mask.fill[w];
  }

  /// Returns the sums S (DummyWeights.h) of the floats at k … k + 3, packed in 16 bits each.
  uint64_t sums(int64_t row, int64_t k) const {
    constexpr uint64_t kField = 0x0007000700070007;
    uint64_t word = seedWord(keys[0][row], static_cast<uint64_t>(k / 4)), sum = 0;
    for (int field = 0; field < 5; ++field)
      sum += word >> 3 * field & kField;
    return sum;
  }

  /// Returns the value of each sum S, as bits of the target type.
  template <typename Bits, typename Convert> static std::array<Bits, 64> values(Convert convert) {
    std::array<Bits, 64> table{};
    for (int sum = 0; sum <= 35; ++sum)
      table[sum] = convert(static_cast<float>(2 * sum - 35) / 512.0f);
    return table;
  }

  template <typename Bits, typename Convert> void floats(Convert convert) {
    const std::array<Bits, 64> table = values<Bits>(convert);
    constexpr int64_t kLine = kPanelRows * sizeof(Bits);
    for (int64_t k = 0; k < layout.k; k += 4) {
      int64_t count = std::min<int64_t>(4, layout.k - k);
      for (int64_t r = 0; r < rows; ++r) {
        uint64_t four = sums(r, k);
        std::byte *to = bytes + k * kLine + r * sizeof(Bits);
        for (int64_t i = 0; i < count; ++i)
          putBits(to + i * kLine, table[four >> 16 * i & 63]);
      }
    }
  }

  void scaledFloats() {
    for (int64_t k = 0; k < layout.k; k += 8) {
      std::byte *to = bytes + k / layout.blockK * layout.blockBytes + layout.codeOffset +
                      k % layout.blockK * kPanelRows;
      for (int64_t r = 0; r < rows; ++r) {
        uint64_t word = seedWord(keys[0][r], static_cast<uint64_t>(k / 8));
        for (int64_t i = 0; i < std::min<int64_t>(8, layout.k - k); ++i)
          to[i * kPanelRows + r] = static_cast<std::byte>(word >> 8 * i & kSeedFp8Mask);
      }
    }
  }

  void bf16Pairs() {
    const auto table = values<uint16_t>(
        [](float w) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(w) >> 16); });
    for (int64_t k = 0; k < layout.k; k += 4) {
      int64_t count = std::min<int64_t>(4, layout.k - k);
      for (int64_t r = 0; r < rows; ++r) {
        uint64_t four = sums(r, k);
        std::byte *to = bytes + k / 2 * layout.blockBytes + r * 4;
        for (int64_t i = 0; i < count; i += 2) {
          uint32_t low = table[four >> 16 * i & 63];
          uint32_t high = i + 1 < count ? table[four >> 16 * (i + 1) & 63] : 0;
          putBits(to + i / 2 * layout.blockBytes, low | high << 16);
        }
      }
    }
  }

  const PanelLayout &layout;
  const NumericFormat &format;
  std::byte *bytes;
  int64_t rows, index; ///< number of rows, index of the panel
  GroupMask rest;      ///< mask of the group in which K ends
  uint64_t keys[2][kPanelRows];
};

/// Writes a scale of seedScales, given as f16, in the type `stored`. Its significand fits bf16 where bf16 is stored.
void putScale(std::byte *to, NumericFormat::Scale stored, uint16_t f16) {
  const float value = static_cast<float>(std::bit_cast<_Float16>(f16));
  if (stored == NumericFormat::Scale::F32)
    putBits(to, value);
  else
    putBits(to, stored == NumericFormat::Scale::F16
                    ? f16
                    : static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
}

/// Writes the scales of `groups` groups of a block, for `rows` rows. `first` is the sum that decides the sign of
/// the first d (DummyWeights.h): the index of the first row plus the index of the first of the format's blocks.
template <typename Layout>
void scalesOfBlock(const Layout &layout, int64_t first, int64_t rows, int64_t groups,
                   std::byte *block) {
  const NumericFormat &format = numericFormat(layout.format);
  const SeedScales made = seedScales(layout.format);
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t ofFormat = group * format.group / format.block();
    const bool begins = group * format.group % format.block() == 0;
    for (int64_t r = 0; r < rows; ++r) {
      const ScalePlaces places = scalesInBlock(layout, format, r, group);
      const bool odd =
          (format.zeroPoint != 0 || format.hasZeros) && (first + r + ofFormat) % 2 != 0;
      if (begins && format.isScaledFloat())
        putBits(block + places.d, kSeedFp8Scale);
      else if (begins)
        putScale(block + places.d, format.scale,
                 static_cast<uint16_t>(made.d ^ (odd ? 0x8000 : 0)));
      if (begins && places.m >= 0)
        putScale(block + places.m, format.minScale(), made.m);
      if (places.s >= 0)
        putSubScale(places, block, made.s);
      if (places.t >= 0)
        putBits(block + places.t, made.t);
    }
  }
}

/// Returns the offset of the end of a block's scales.
int64_t scalesEnd(const PanelLayout &layout) { return layout.codeOffset; }
int64_t scalesEnd(const FragmentLayout &layout) { return layout.blockBytes; }

/// Fills in the scales of all blocks. Since signs alternate, a complete block is a copy of the one two blocks
/// before it.
template <typename Layout> void fillScales(const Layout &layout, int64_t index, std::byte *unit) {
  const NumericFormat &format = numericFormat(layout.format);
  const auto [first, rows] = layout.rowsOf(index);
  const int64_t end = roundUp(layout.k, format.block());
  for (int64_t k = 0; k < end; k += layout.blockK, unit += layout.blockBytes) {
    const int64_t values = std::min(layout.blockK, end - k);
    if (k < 2 * layout.blockK || values < layout.blockK)
      scalesOfBlock(layout, first + k / format.block(), rows, values / format.group, unit);
    else
      std::memcpy(unit + layout.scaleOffset, unit - 2 * layout.blockBytes + layout.scaleOffset,
                  static_cast<size_t>(scalesEnd(layout) - layout.scaleOffset));
  }
}

} // namespace

void ingot::fillSeedScales(const PanelLayout &layout, int64_t index, std::byte *panel) {
  fillScales(layout, index, panel);
}
void ingot::fillSeedScales(const FragmentLayout &layout, int64_t index, std::byte *tile) {
  fillScales(layout, index, tile);
}

void ingot::fillSeedPanels(uint64_t seed, uint64_t tensor, const PanelLayout &layout, int64_t first,
                           std::span<std::byte> out) {
  int64_t panels = static_cast<int64_t>(out.size()) / layout.panelBytes();
  assert(static_cast<int64_t>(out.size()) == panels * layout.panelBytes() && "panels are whole");
  assert(first >= 0 && first + panels <= layout.panels && "the weight has fewer panels");
  for (int64_t p = 0; p < panels; ++p)
    SeedPanel(seed, tensor, layout, first + p, out.data() + p * layout.panelBytes()).fill();
}

void ingot::fillSeedVector(int64_t n, std::span<std::byte> out) {
  assert(n >= 0 && static_cast<size_t>(n) <= out.size() / sizeof(float) && "a shorter vector");
  for (int64_t i = 0; i < n; ++i)
    putBits(out.data() + i * static_cast<int64_t>(sizeof(float)), 1.0f);
}
