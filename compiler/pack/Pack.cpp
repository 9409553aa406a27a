//===- Pack.cpp - Panels and fragments from rows --------------------------===//
#include "compiler/pack/Pack.h"
#include "compiler/import/blocks/Codes.h"
#include "compiler/import/checkpoint/Dequantize.h"
#include "runtime/formats/E4M3.h"
#include "runtime/formats/WeightPlace.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <vector>

using namespace ingot;
using namespace ingot::compiler;
using import::BlockParts;

namespace {

uint16_t bf16FromF32(float value) { // round to nearest even; NaN was refused at import
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

uint16_t f16FromF32(float value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }

/// Maps each entry of a grid to its index.
std::vector<uint16_t> indexesOf(const Grid &grid) {
  std::vector<uint16_t> indexes(1 << 16);
  for (int i = 0; i < grid.count(); ++i)
    indexes[grid.entries[i]] = static_cast<uint16_t>(i);
  return indexes;
}

/// Returns the index of each entry of a format's grid. The tables of all formats are built once.
const std::vector<uint16_t> &indexesOf(const NumericFormat &format) {
  static const auto kAll = [] {
    std::array<std::vector<uint16_t>, kWeightFormatCount> all;
    for (int id = 0; id < kWeightFormatCount; ++id)
      if (const Grid *grid = numericFormat(WeightFormat(id)).grid)
        all[static_cast<size_t>(id)] = indexesOf(*grid);
    return all;
  }();
  return kAll[static_cast<size_t>(format.id)];
}

/// Returns the index of the grid entry that consists of the codes of a run.
unsigned indexOf(const std::vector<uint16_t> &indexes, const Grid &grid, const uint8_t *run) {
  unsigned entry = 0;
  for (int j = 0; j < grid.run; ++j)
    entry |= unsigned(run[j] & 7) << grid.bits() * j;
  return indexes[entry];
}

/// Writes the codes of one row of a panel, as whole words. WeightPlace.h defines the position of the first word.
class PanelCodesOfRow {
public:
  PanelCodesOfRow(const PanelLayout &layout, const NumericFormat &format, int64_t row)
      : layout(layout), format(format), row(row) {}

  /// Writes 32 codes, starting at value k of a block.
  void put(std::byte *block, int64_t k, const uint8_t *q) const {
    if (format.packing == NumericFormat::Packing::Grid)
      return putIndexes(block, k, q);
    if (format.packing == NumericFormat::Packing::Trits)
      return putTrits(block, k, q);
    std::byte *to =
        block + groupInBlock(layout, format, k / kGroupK) + row * (format.isScaledFloat() ? 1 : 4);
    if (format.packing == NumericFormat::Packing::Bit1)
      return putPlane<1>(to, q, 1);
    if (format.isScaledFloat()) {
      for (int i = 0; i < kGroupK; ++i)
        to[i * kPanelRows] = static_cast<std::byte>(q[i]);
      return;
    }
    if (format.bits == 8) {
      for (int s = 0; s < 8; ++s)
        std::memcpy(to + kPanelLine * s, q + 4 * s, 4);
      return;
    }
    switch (format.bits) {
    case 2:
      return putPlane<2>(to, q, 0);
    case 3:
      return putPlane<1>(to, q, 2), putPlane<2>(to + kPanelLine, q, 0);
    case 4:
      return putPlane<4>(to, q, 0);
    case 5:
      return putPlane<1>(to, q, 4), putPlane<4>(to + kPanelLine, q, 0);
    default:
      return putPlane<2>(to, q, 4), putPlane<4>(to + 2 * kPanelLine, q, 0);
    }
  }

private:
  void putTrits(std::byte *block, int64_t k, const uint8_t *q) const {
    for (int i = 0; i < 4; ++i)
      for (int s = 0; s < kGroupK / 4; s += 3) { // one number of base-3 digits
        const uint8_t *const digits = q + 4 * s + i;
        const int number = digits[0] + 3 * digits[4] + (s < 6 ? 9 * digits[8] : 0);
        const TritPlace place = tritInBlock(layout, format, row, k + 4 * s + i);
        block[place.byte] |= static_cast<std::byte>((number & 15) << place.bit);
        if (number >> 4)
          putBit(place.fifth, block, 1);
      }
  }
  /// Does the work of put() for formats with a grid: writes lines and nibbles.
  void putIndexes(std::byte *block, int64_t k, const uint8_t *q) const {
    const Grid &grid = *format.grid;
    const std::vector<uint16_t> &indexes = indexesOf(format);
    const int64_t g = k / kGroupK, lines = indexLines(grid);
    std::byte *const to = block + groupInBlock(layout, format, g) + row * 4;
    for (int64_t line = 0; line < lines; ++line) {
      uint8_t low[kRunsOfLine], masks[4] = {};
      for (int i = 0; i < kRunsOfLine; ++i) {
        const uint8_t *const run = q + (line * kRunsOfLine + i) * grid.run;
        const unsigned index = indexOf(indexes, grid, run);
        low[i] = static_cast<uint8_t>(index);
        for (int u = 0; u < grid.upperBits(); ++u)
          masks[u] |= static_cast<uint8_t>((index >> (8 + u) & 1) << i);
        if (grid.signs == GridSigns::Run)
          masks[grid.upperBits()] |= static_cast<uint8_t>((run[0] >> 3 & 1) << i);
      }
      std::memcpy(to + kPanelLine * line, low, sizeof low);
      for (int64_t mask = 0; mask < masksOfLine(grid); ++mask)
        block[maskInBlock(layout, grid, mask, g, line) + row / 2] |=
            static_cast<std::byte>(masks[mask] << (row % 2 * kRunsOfLine));
    }
    if (grid.signs == GridSigns::Value)
      putPlane<1>(to + kPanelLine * lines, q, 3);
    else if (grid.signs == GridSigns::Group)
      putBit(signInBlock(layout, format, row, k), block, q[0] >> 3);
  }

  /// Writes the bits of each code, starting at bit `from`, into a plane: one word of each line belongs
  /// to the row.
  template <int Bits> static void putPlane(std::byte *to, const uint8_t *q, int from) {
    uint8_t bytes[4 * Bits] = {};
    for (int s = 0; s < 8; ++s) {
      constexpr int kMask = (1 << Bits) - 1;
      const CodePlace place = stepInPlane(Bits, s);
      for (int i = 0; i < 4; ++i)
        bytes[place.byte / kPanelRows + i] |=
            static_cast<uint8_t>((q[4 * s + i] >> from & kMask) << place.bit);
    }
    for (int line = 0; line < Bits; ++line)
      std::memcpy(to + kPanelLine * line, bytes + 4 * line, 4);
  }

  const PanelLayout &layout;
  const NumericFormat &format;
  const int64_t row;
};

/// Writes the codes of a row into a tile of fragments, one by one. If the format has a grid, it writes them run by run.
class FragmentCodesOfRow {
public:
  FragmentCodesOfRow(const FragmentLayout &layout, const NumericFormat &format, int64_t row)
      : layout(layout), format(format), row(row), packing(packingIn(layout, format)) {
    if (packing == NumericFormat::Packing::Planes)
      places = codesOfRun(layout, format, row);
  }

  void put(std::byte *block, int64_t k, const uint8_t *q) const {
    if (const Grid *grid = format.grid) {
      const std::vector<uint16_t> &indexes = indexesOf(format);
      for (int i = 0; i < kGroupK; i += grid->run)
        putRun(layout, format, row, k + i, static_cast<int>(indexOf(indexes, *grid, q + i)), q + i,
               block);
      return;
    }
    if (packing == NumericFormat::Packing::Bit1) {
      for (int i = 0; i < kGroupK; ++i)
        putCodeOfBlock(layout, format, row, k + i, q[i], block);
      return;
    }
    block += k / kRunK * layout.runBytes;
    for (int i = 0; i < kGroupK; ++i)
      putCode(places[static_cast<size_t>(k % kRunK + i)], format.bits, block, q[i]);
  }

private:
  const FragmentLayout &layout;
  const NumericFormat &format;
  const int64_t row;
  const NumericFormat::Packing packing;
  std::array<CodePlace, kRunK> places;
};

/// A row of a panel or a tile: writes each part of it to its place. A block of the layout may hold several of
/// the format's blocks; the sizes of both and of their groups are powers of two.
template <typename Layout> class PackedRow {
public:
  PackedRow(const Layout &layout, std::byte *unit, int64_t row)
      : layout(layout), format(numericFormat(layout.format)), unit(unit), row(row),
        blockShift(std::countr_zero(static_cast<uint64_t>(layout.blockK))),
        groupShift(std::countr_zero(static_cast<unsigned>(format.group))),
        places(this->layout, format, row) {}

  /// Writes the codes of 32 consecutive values of K.
  void codes(int64_t k, const uint8_t *q) { places.put(block(k), k & (layout.blockK - 1), q); }
  /// Writes the scale of the block that begins at k; the format's type must hold it exactly.
  void scale(int64_t k, float d) { number(block(k) + scales(k).d, format.scale, d); }
  /// Writes all scales, minima and zero points of the stored block that begins at k.
  void scales(int64_t k, const BlockParts &parts) {
    std::byte *to = block(k);
    const ScalePlaces ofBlock = scales(k);
    scale(k, parts.d);
    if (ofBlock.m >= 0)
      number(to + ofBlock.m, format.minScale(), parts.m);
    if (format.hasZeros)
      putBits(to + ofBlock.t, parts.t[0]);
    for (int64_t i = 0; i < format.superGroup >> groupShift; ++i) {
      const ScalePlaces ofGroup = scales(k + (i << groupShift));
      putSubScale(ofGroup, to, static_cast<uint8_t>(parts.s[i]));
      if (format.hasMin)
        putBits(to + ofGroup.t, parts.t[i]);
    }
  }
  /// Writes all values of a float format.
  void numbers(std::span<const float> values) {
    if (layout.format == WeightFormat::F16)
      numbers(values, f16FromF32);
    else if (layout.format == WeightFormat::F32 && std::is_same_v<Layout, PanelLayout>)
      numbers(values, [](float value) { return value; });
    else
      numbers(values, bf16FromF32);
  }

private:
  static void number(std::byte *to, NumericFormat::Scale stored, float value) {
    switch (stored) {
    case NumericFormat::Scale::F16:
      return putBits(to, f16FromF32(value));
    case NumericFormat::Scale::BF16:
      return putBits(to, bf16FromF32(value));
    case NumericFormat::Scale::F32:
      return putBits(to, value);
    }
  }
  std::byte *block(int64_t k) { return unit + (k >> blockShift) * layout.blockBytes; }
  ScalePlaces scales(int64_t k) const {
    return scalesInBlock(layout, format, row, (k & (layout.blockK - 1)) >> groupShift);
  }
  template <typename Convert> void numbers(std::span<const float> values, Convert convert) {
    constexpr size_t kAtOnce = kStepK; // whole blocks
    std::array<int64_t, kAtOnce> to;
    for (size_t i = 0; i < kAtOnce; ++i)
      to[i] = numberPlace(layout, format, row, static_cast<int64_t>(i));
    std::byte *from = unit;
    for (; values.size() >= kAtOnce; values = values.subspan(kAtOnce), from = nextStep(from))
      for (size_t i = 0; i < kAtOnce; ++i)
        putBits(from + to[i], convert(values[i]));
    for (size_t i = 0; i < values.size(); ++i)
      putBits(from + to[i], convert(values[i]));
  }
  std::byte *nextStep(std::byte *from) const {
    return from + (kStepK >> blockShift) * layout.blockBytes;
  }

  const Layout layout;
  const NumericFormat &format;
  std::byte *unit;
  int64_t row;
  int blockShift, groupShift;
  std::conditional_t<std::is_same_v<Layout, PanelLayout>, PanelCodesOfRow, FragmentCodesOfRow>
      places;
};

/// Copies codes and scales of `count` values unchanged.
template <typename Row>
void copyParts(WeightFormat format, std::span<const std::byte> stored, int64_t count, Row &to) {
  const auto blockBytes = static_cast<size_t>(import::storedBlockBytes(format));
  const int64_t values = import::storedBlockValues(format);
  BlockParts parts;
  for (int64_t k = 0; k < count; k += values, stored = stored.subspan(blockBytes)) {
    import::unpackBlock(format, stored.data(), parts);
    for (int64_t i = 0; i < values; i += kGroupK)
      to.codes(k + i, parts.q + i);
    to.scales(k, parts);
  }
}

/// Copies codes and scales of an fp8 row unchanged.
template <typename Row>
void copyFp8(import::StoredRow row, std::span<const std::byte> stored, Row &to) {
  const int64_t blockK = numericFormat(row.tensor->format).block(),
                k = static_cast<int64_t>(stored.size());
  uint8_t q[kGroupK];
  for (int64_t from = 0; from < k; from += kGroupK) {
    std::fill(std::begin(q), std::end(q), uint8_t(0));
    std::memcpy(q, stored.data() + from, static_cast<size_t>(std::min(kGroupK, k - from)));
    to.codes(from, q);
    if (from % blockK == 0)
      to.scale(from, row.tensor->scale(row.index, from));
  }
}

/// Quantises a row to fp8 with one scale, which maps the largest magnitude to 448; codes are rounded to
/// nearest.
template <typename Row>
void quantizeFp8(std::span<const float> values, const NumericFormat &numeric, Row &to) {
  float largest = 0;
  for (float value : values)
    largest = std::max(largest, std::abs(value));
  const float scale = largest / kE4M3Largest;
  const int64_t k = static_cast<int64_t>(values.size()), blockK = numeric.block();
  uint8_t q[kGroupK];
  for (int64_t from = 0; from < k; from += kGroupK) {
    for (int64_t i = 0; i < kGroupK; ++i)
      q[i] = from + i < k && scale != 0 ? e4m3FromF32(values[from + i] / scale) : uint8_t(0);
    to.codes(from, q);
    if (from % blockK == 0)
      to.scale(from, scale);
  }
}

/// Quantises a row, rounding to nearest. The value of largest magnitude in a block determines the scale: int4 maps it
/// to -8 (one more step than +7), and int8 maps it to +-127. The scale is rounded to f16 before codes are chosen, so
/// that the codes match the stored scale. Unless all values are 0, the scale is at least the smallest positive f16.
/// Returns false if the scale is beyond f16's range (ScaleRange.h excludes such matrices).
template <typename Row>
bool quantizeRow(std::span<const float> values, const NumericFormat &numeric, Row &to) {
  int64_t k = static_cast<int64_t>(values.size()), blockK = numeric.block();
  constexpr float kToInteger = 0x1.8p23f; // add, then subtract: rounds to nearest even
  const float low = numeric.bits == 8 ? -127 : -8, high = numeric.bits == 8 ? 127 : 7;
  const int zero = numeric.zeroPoint;
  uint8_t q[128];
  for (int64_t from = 0; from < k; from += blockK) {
    int64_t count = std::min(blockK, k - from);
    float extreme = 0;
    for (int64_t i = 0; i < count; ++i)
      if (std::abs(values[from + i]) > std::abs(extreme))
        extreme = values[from + i];
    float wanted = numeric.bits == 8 ? std::abs(extreme) / 127 : extreme / -8;
    uint16_t bits = f16FromF32(wanted);
    if ((bits & 0x7fff) == 0 && extreme != 0)
      bits |= 1;
    if ((bits & 0x7c00) == 0x7c00)
      return false;
    float scale = import::f16ToF32(bits), inverse = scale != 0 ? 1 / scale : 0;
    std::fill(std::begin(q), std::end(q), static_cast<uint8_t>(zero));
    for (int64_t i = 0; i < count; ++i) {
      const float code = std::clamp(values[from + i] * inverse, low, high);
      q[i] = static_cast<uint8_t>(static_cast<int>(code + kToInteger - kToInteger) + zero);
    }
    for (int64_t i = 0; i < blockK; i += kGroupK)
      to.codes(from + i, q + i);
    to.scale(from, scale);
  }
  return true;
}

/// Copies a row that is stored in the layout's own format, without rounding.
template <typename Row>
void copyRow(import::StoredRow row, std::span<const std::byte> stored, int64_t k, Row &to) {
  if (numericFormat(row.tensor->format).isScaledFloat())
    copyFp8(row, stored, to);
  else
    copyParts(row.tensor->format, stored, k, to);
}

/// Converts values to another format. Returns false if the scale that they need is too large for f16.
template <typename Row>
bool convertRow(std::span<const float> values, const NumericFormat &numeric, Row &to) {
  if (!numeric.isFloat() && !numeric.isScaledFloat())
    return quantizeRow(values, numeric, to);
  if (numeric.isScaledFloat())
    quantizeFp8(values, numeric, to);
  else
    to.numbers(values);
  return true;
}

Error scaleBeyondF16(import::StoredRow row, const NumericFormat &numeric) {
  return {ExitCode::File, "E0448", row.tensor->name + " cannot be " + std::string(numeric.name),
          "row " + std::to_string(row.index) +
              " has values whose scale exceeds f16's maximum, 65,504",
          "keep it in bf16 with a recipe: { weights = \"NAME\", format = \"bf16\" }"};
}

/// Packs panels or tiles, starting at unit `first`. A unit is one panel or tile.
template <typename Layout>
Result<void> packRows(const import::RowSource &source, const Layout &layout, int64_t first,
                      std::span<std::byte> out) {
  const NumericFormat &numeric = numericFormat(layout.format);
  const bool verbatim = source.format() == layout.format && !numeric.isFloat();
  const auto k = static_cast<size_t>(layout.k);
  const int64_t unitRows = rowsOfUnit(layout), unitBytes = layout.blocks * layout.blockBytes;
  std::vector<float> values(verbatim ? 0 : static_cast<size_t>(unitRows) * k);
  const int64_t units = static_cast<int64_t>(out.size()) / unitBytes;
  assert(static_cast<int64_t>(out.size()) == units * unitBytes && "panels and tiles are whole");
  for (int64_t u = 0; u < units; ++u) {
    const auto [begin, count] = layout.rowsOf(first + u);
    if (count < 1)
      continue;
    std::byte *const unit = out.data() + u * unitBytes;
    if (verbatim) {
      source.stored(begin, count,
                    [&](int64_t r, import::StoredRow row, std::span<const std::byte> stored) {
                      PackedRow to(layout, unit, r);
                      copyRow(row, stored, layout.k, to);
                    });
      continue;
    }
    if (auto read = source.read(begin, std::span(values).first(static_cast<size_t>(count) * k));
        !read)
      return read;
    for (int64_t r = 0; r < count; ++r) {
      PackedRow to(layout, unit, r);
      if (!convertRow(std::span<const float>(values).subspan(static_cast<size_t>(r) * k, k),
                      numeric, to))
        return scaleBeyondF16(source.at(begin + r), numeric);
    }
  }
  return {};
}

} // namespace

Result<void> compiler::packPanels(const import::RowSource &source, const PanelLayout &layout,
                                  int64_t first, std::span<std::byte> out) {
  return packRows(source, layout, first, out);
}

Result<void> compiler::packFragments(const import::RowSource &source, const FragmentLayout &layout,
                                     int64_t first, std::span<std::byte> out) {
  return packRows(source, layout, first, out);
}

Result<void> compiler::packVector(const import::RowSource &source, std::span<std::byte> out) {
  std::vector<float> values(static_cast<size_t>(source.rows()));
  if (auto done = source.read(0, values); !done)
    return done;
  assert(values.size() <= out.size() / sizeof(float) && "the vector is longer than its place");
  std::memcpy(out.data(), values.data(), values.size() * sizeof(float));
  return {};
}
