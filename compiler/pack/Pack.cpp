//===- Pack.cpp - Panels and fragments from rows --------------------------===//
#include "compiler/pack/Pack.h"
#include "compiler/import/Codes.h"
#include "compiler/import/Dequantize.h"
#include "runtime/formats/E4M3.h"

#include <algorithm>
#include <bit>
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

template <typename T> void put(std::byte *to, T value) { std::memcpy(to, &value, sizeof value); }

/// The place of a row in a panel: where each part of its blocks goes. Blocks are the format's.
class PanelRow {
public:
  PanelRow(const PanelLayout &layout, std::byte *panel, int64_t row)
      : layout(layout), format(numericFormat(layout.format)), panel(panel), row(row) {}

  /// Codes of 32 consecutive values of K, group `group` of block `block`.
  void codes(int64_t block, int64_t group, const uint8_t *q) {
    if (format.isScaledFloat()) {
      for (int i = 0; i < kGroupK; ++i)
        at(block)[(group * kGroupK + i) * kPanelRows + row] = static_cast<std::byte>(q[i]);
      return;
    }
    std::byte *to = at(block) + group * layout.groupCodeBytes +
                    row / 16 * (layout.groupCodeBytes / 2) + row % 16 * 4;
    if (format.bits == 8) {
      for (int s = 0; s < 8; ++s)
        std::memcpy(to + 64 * s, q + 4 * s, 4);
      return;
    }
    for (int j = 0; j < 4; ++j) {
      uint8_t bytes[4];
      for (int i = 0; i < 4; ++i)
        bytes[i] = static_cast<uint8_t>((q[4 * j + i] & 15) | (q[16 + 4 * j + i] << 4));
      std::memcpy(to + 64 * j, bytes, 4);
    }
    uint8_t bits[8] = {}; // upper bits: one line of single bits, or two lines of pairs
    for (int s = 0; s < 8; ++s)
      for (int i = 0; i < 4; ++i)
        if (format.bits == 5)
          bits[i] |= static_cast<uint8_t>((q[4 * s + i] >> 4) << s);
        else if (format.bits == 6)
          bits[s / 4 * 4 + i] |= static_cast<uint8_t>((q[4 * s + i] >> 4) << (s % 4 * 2));
    for (int line = 0; line < format.bits - 4; ++line)
      std::memcpy(to + 256 + 64 * line, bits + 4 * line, 4);
  }
  void scale(int64_t block, uint16_t bits) { put(at(block) + layout.scaleOffset + 2 * row, bits); }
  void scale(int64_t block, float s) { put(at(block) + layout.scaleOffset + 4 * row, s); }
  void minimum(int64_t block, uint16_t bits) { put(at(block) + layout.minOffset + 2 * row, bits); }
  void subScale(int64_t block, int64_t i, int16_t s) {
    put(at(block) + layout.subScaleOffset + kPanelRows * i + row, static_cast<uint8_t>(s));
  }
  void subMinimum(int64_t block, int64_t i, uint8_t t) {
    put(at(block) + layout.subMinOffset + kPanelRows * i + row, t);
  }

  /// One value of a float format.
  void number(int64_t k, float value) {
    switch (layout.format) {
    case WeightFormat::F32:
      put(panel + k * 128 + row * 4, value);
      break;
    case WeightFormat::F16:
      put(panel + k * 64 + row * 2, f16FromF32(value));
      break;
    default:
      put(panel + k / 2 * 128 + row * 4 + k % 2 * 2, bf16FromF32(value));
      break;
    }
  }

private:
  std::byte *at(int64_t block) { return panel + block * layout.blockBytes; }

  const PanelLayout &layout;
  const NumericFormat &format;
  std::byte *panel;
  int64_t row;
};

/// The same of a row in a tile of fragments, whose blocks may hold two of the format's.
class FragmentRow {
public:
  FragmentRow(const FragmentLayout &layout, std::byte *tile, int64_t row)
      : layout(layout), format(numericFormat(layout.format)), tile(tile), row(row) {}

  void codes(int64_t block, int64_t group, const uint8_t *q) {
    int64_t k = block * format.block() + group * kGroupK;
    for (int64_t i = 0; i < kGroupK; i += 2)
      pair(k + i, q[i], q[i + 1]);
  }
  void scale(int64_t block, uint16_t bits) { put(scaleAt(block, layout.scaleOffset), bits); }
  void scale(int64_t block, float s) {
    put(at(block) + layout.scaleOffset + 4 * scalePlace(row, 0, 1, format.group), s);
  }
  void minimum(int64_t block, uint16_t bits) { put(scaleAt(block, layout.minOffset), bits); }
  void subScale(int64_t block, int64_t i, int16_t s) {
    put(at(block) + layout.subScaleOffset + subPlace(i), static_cast<uint8_t>(s));
  }
  void subMinimum(int64_t block, int64_t i, uint8_t t) {
    put(at(block) + layout.subMinOffset + subPlace(i), t);
  }

  void number(int64_t k, float value) {
    FragmentPlace place = fragmentPlace(row, k % kStepK);
    std::byte *to = tile + k / kStepK * layout.blockBytes + place.lane * 16 + place.value * 2;
    put(to, layout.format == WeightFormat::F16 ? f16FromF32(value) : bf16FromF32(value));
  }

private:
  std::byte *at(int64_t block) {
    return tile + block * format.block() / layout.blockK * layout.blockBytes;
  }
  std::byte *scaleAt(int64_t block, int64_t offset) {
    int64_t scales = layout.blockK / format.block(), inBlock = block % scales;
    return at(block) + offset + 2 * scalePlace(row, inBlock, scales, format.block());
  }
  int64_t subPlace(int64_t i) const {
    return scalePlace(row, i, format.superGroup / format.group, format.group);
  }
  static void orWord(std::byte *to, uint32_t bits) {
    uint32_t word;
    std::memcpy(&word, to, 4);
    put(to, word | bits);
  }

  /// Codes of k and k + 1 (k even): the two halves of the words that hold them.
  void pair(int64_t k, uint32_t even, uint32_t odd) {
    FragmentPlace place = fragmentPlace(row, k % kStepK);
    std::byte *run =
        tile + k / layout.blockK * layout.blockBytes + k % layout.blockK / kRunK * layout.runBytes;
    int64_t step = k % kRunK / kStepK, j = place.value / 2;
    if (format.bits == 8) {
      int64_t inWord = format.isScaledFloat() ? j / 2 : j % 2,
              ofStep = format.isScaledFloat() ? j % 2 : j / 2;
      std::byte *word = run + step / 2 * 512 + place.lane * 16 + (2 * (step % 2) + ofStep) * 4;
      return orWord(word, (even | odd << 16) << (8 * inWord));
    }
    orWord(run + place.lane * 16 + step * 4, ((even & 15) | (odd & 15) << 16) << (4 * j));
    uint32_t upper = even >> 4 | odd >> 4 << 16;
    if (format.bits == 5)
      orWord(run + 512 + place.lane * 4, upper << (4 * step + j));
    else if (format.bits == 6)
      orWord(run + 512 + place.lane * 8 + step / 2 * 4, upper << (8 * (step % 2) + 2 * j));
  }

  const FragmentLayout &layout;
  const NumericFormat &format;
  std::byte *tile;
  int64_t row;
};

/// Codes and scales of `count` values, as they are stored.
template <typename Row>
void copyParts(WeightFormat format, std::span<const std::byte> stored, int64_t count, Row to) {
  const NumericFormat &numeric = numericFormat(format);
  int64_t blockBytes = import::storedBlockBytes(format), values = import::storedBlockValues(format);
  BlockParts parts;
  for (int64_t block = 0; block * values < count; ++block) {
    import::unpackBlock(format, stored.data() + block * blockBytes, parts);
    for (int64_t group = 0; group < values / kGroupK; ++group)
      to.codes(block, group, parts.q + group * kGroupK);
    to.scale(block, parts.d);
    if (numeric.hasMin)
      to.minimum(block, parts.m);
    if (!numeric.superGroup)
      continue;
    for (int64_t i = 0; i < numeric.superGroup / numeric.group; ++i) {
      to.subScale(block, i, parts.s[i]);
      if (numeric.hasMin)
        to.subMinimum(block, i, parts.t[i]);
    }
  }
}

/// Codes and scales of an fp8 row, as they are stored.
template <typename Row> void copyFp8(import::StoredRow row, Row to) {
  std::span<const std::byte> stored = import::tensorRow(*row.tensor, row.index);
  const int64_t blockK = numericFormat(row.tensor->format).block(),
                k = static_cast<int64_t>(stored.size());
  uint8_t q[kGroupK];
  for (int64_t from = 0; from < k; from += kGroupK) {
    std::fill(std::begin(q), std::end(q), uint8_t(0));
    std::memcpy(q, stored.data() + from, static_cast<size_t>(std::min(kGroupK, k - from)));
    to.codes(from / blockK, from % blockK / kGroupK, q);
    if (from % blockK == 0)
      to.scale(from / blockK, row.tensor->scale(row.index, from));
  }
}

/// One scale for the row, of which 448 is the largest value; codes of the nearest numbers.
template <typename Row>
void quantizeFp8(std::span<const float> values, const NumericFormat &numeric, Row to) {
  float largest = 0;
  for (float value : values)
    largest = std::max(largest, std::abs(value));
  const float scale = largest / kE4M3Largest;
  const int64_t k = static_cast<int64_t>(values.size()), blockK = numeric.block();
  uint8_t q[kGroupK];
  for (int64_t from = 0; from < k; from += kGroupK) {
    for (int64_t i = 0; i < kGroupK; ++i)
      q[i] = from + i < k && scale != 0 ? e4m3FromF32(values[from + i] / scale) : uint8_t(0);
    to.codes(from / blockK, from % blockK / kGroupK, q);
    if (from % blockK == 0)
      to.scale(from / blockK, scale);
  }
}

/// Round to nearest: the value of largest magnitude decides the scale. int4 maps it to -8 (one more step than
/// +7), int8 to +-127. The scale is rounded to f16 before codes are chosen, so that they fit what is stored; of values
/// that are not 0 it is f16's smallest number at least. False: f16 does not hold it (ScaleRange.h keeps such matrices out).
template <typename Row>
bool quantizeRow(std::span<const float> values, const NumericFormat &numeric, Row to) {
  int64_t k = static_cast<int64_t>(values.size()), blockK = numeric.block();
  uint8_t q[128];
  for (int64_t block = 0; block * blockK < k; ++block) {
    int64_t from = block * blockK, count = std::min(blockK, k - from);
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
    int low = numeric.bits == 8 ? -127 : -8, high = numeric.bits == 8 ? 127 : 7;
    std::fill(std::begin(q), std::end(q), static_cast<uint8_t>(numeric.zeroPoint));
    for (int64_t i = 0; i < count; ++i) {
      int code = std::clamp(static_cast<int>(std::lrintf(values[from + i] * inverse)), low, high);
      q[i] = static_cast<uint8_t>(code + numeric.zeroPoint);
    }
    for (int64_t group = 0; group < blockK / kGroupK; ++group)
      to.codes(block, group, q + group * kGroupK);
    to.scale(block, bits);
  }
  return true;
}

/// A row that is stored in the layout's own format: nothing is rounded.
template <typename Row> void copyRow(import::StoredRow row, int64_t k, Row to) {
  const import::Tensor &tensor = *row.tensor;
  if (numericFormat(tensor.format).isScaledFloat())
    copyFp8(row, to);
  else
    copyParts(tensor.format, import::tensorRow(tensor, row.index), k, to);
}

/// Numbers in a format that they are converted to. False: an f16 scale cannot hold them.
template <typename Row>
bool convertRow(std::span<const float> values, const NumericFormat &numeric, Row to) {
  if (!numeric.isFloat() && !numeric.isScaledFloat())
    return quantizeRow(values, numeric, to);
  if (numeric.isScaledFloat())
    quantizeFp8(values, numeric, to);
  else
    for (size_t k = 0; k < values.size(); ++k)
      to.number(static_cast<int64_t>(k), values[k]);
  return true;
}

Error scaleBeyondF16(import::StoredRow row, const NumericFormat &numeric) {
  return {ExitCode::File, "E0448", row.tensor->name + " cannot be " + std::string(numeric.name),
          "row " + std::to_string(row.index) + " has values whose scale is beyond f16's 65,504",
          "leave it bf16: a recipe's line, NAME bf16"};
}

/// Units of `unitRows` rows and `unitBytes` bytes, from unit `first` on: a unit is the block of rows that is read at once.
template <typename Row, typename Layout>
Result<void> packRows(const import::RowSource &source, const Layout &layout, int64_t unitRows,
                      int64_t unitBytes, int64_t first, std::span<std::byte> out) {
  const NumericFormat &numeric = numericFormat(layout.format);
  const bool verbatim = source.format() == layout.format && !numeric.isFloat();
  const auto k = static_cast<size_t>(layout.k);
  std::vector<float> values(verbatim ? 0 : static_cast<size_t>(unitRows) * k);
  const int64_t units = static_cast<int64_t>(out.size()) / unitBytes;
  for (int64_t u = 0; u < units; ++u) {
    const int64_t begin = (first + u) * unitRows, count = std::min(unitRows, layout.n - begin);
    if (!verbatim && count > 0)
      if (auto read = source.read(begin, std::span(values).first(static_cast<size_t>(count) * k));
          !read)
        return read;
    for (int64_t r = 0; r < count; ++r) {
      Row to(layout, out.data() + u * unitBytes, r);
      if (verbatim)
        copyRow(source.at(begin + r), layout.k, to);
      else if (!convertRow(std::span<const float>(values).subspan(static_cast<size_t>(r) * k, k),
                           numeric, to))
        return scaleBeyondF16(source.at(begin + r), numeric);
    }
  }
  return {};
}

} // namespace

Result<void> compiler::packPanels(const import::RowSource &source, const PanelLayout &layout,
                                  int64_t first, std::span<std::byte> out) {
  return packRows<PanelRow>(source, layout, kPanelRows, layout.panelBytes(), first, out);
}

Result<void> compiler::packFragments(const import::RowSource &source, const FragmentLayout &layout,
                                     int64_t first, std::span<std::byte> out) {
  return packRows<FragmentRow>(source, layout, kFragmentRows, layout.tileBytes(), first, out);
}

Result<void> compiler::packVector(const import::RowSource &source, std::span<std::byte> out) {
  std::vector<float> values(static_cast<size_t>(source.rows()));
  if (auto done = source.read(0, values); !done)
    return done;
  std::memcpy(out.data(), values.data(), values.size() * sizeof(float));
  return {};
}
