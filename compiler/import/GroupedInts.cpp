//===- GroupedInts.cpp - See GroupedInts.h ---------------------------------===//
#include "compiler/import/GroupedInts.h"
#include "compiler/import/Codes.h"
#include "compiler/import/ImportErrors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace ingot::import {

namespace {

using Scale = NumericFormat::Scale;

bool fitsF16(float value) { return static_cast<float>(static_cast<_Float16>(value)) == value; }
bool fitsBF16(float value) { return (std::bit_cast<uint32_t>(value) & 0xffff) == 0; }

/// What all scales and zero points have in common.
struct Survey {
  bool f16 = true, bf16 = true;
  int leastZero = 255, mostZero = 0;

  void add(const GroupedInts &ints) {
    const int64_t groups = (ints.columns + ints.group - 1) / ints.group;
    for (int64_t row = 0; row < ints.rows; ++row)
      for (int64_t g = 0; g < groups; ++g) {
        const float scale = ints.scale(row, g);
        f16 &= fitsF16(scale), bf16 &= fitsBF16(scale);
        const int zero = ints.zero(row, g);
        leastZero = std::min(leastZero, zero), mostZero = std::max(mostZero, zero);
      }
  }
  Scale scale() const { return f16 ? Scale::F16 : bf16 ? Scale::BF16 : Scale::F32; }
  /// What is added to codes so that one zero point of all is the middle of `bits` bits; empty: it is not to be had.
  std::optional<int> shift(int codeBits, int bits) const {
    const int by = (1 << (bits - 1)) - leastZero;
    if (leastZero != mostZero || by < 0 || (1 << codeBits) - 1 + by >= 1 << bits)
      return std::nullopt;
    return by;
  }
};

/// Formats by what they hold, those with the largest groups first.
constexpr WeightFormat kFormats[] = {
    WeightFormat::Int4G128,  WeightFormat::Int4G64,   WeightFormat::Int4G32,
    WeightFormat::Int4BG128, WeightFormat::Int4BG32,  WeightFormat::Int4ZG128,
    WeightFormat::Int4ZG64,  WeightFormat::Int4ZG32,  WeightFormat::Int4ZBG128,
    WeightFormat::Int4ZBG32, WeightFormat::Int4ZFG32, WeightFormat::Int8F,
    WeightFormat::Int8,      WeightFormat::Int8ZF,
};

bool holds(Scale wide, Scale narrow) { return wide == narrow || wide == Scale::F32; }

std::optional<WeightFormat> firstOf(int bits, bool zeros, Scale scale, int64_t group) {
  for (WeightFormat id : kFormats) {
    const NumericFormat &format = numericFormat(id);
    if (format.bits == bits && (format.hasZeros || !zeros) && holds(format.scale, scale) &&
        group % format.group == 0)
      return id;
  }
  return std::nullopt;
}

int bitsOf(int codeBits) { return codeBits == 8 ? 8 : 4; }

/// One group of all K may end anywhere: blocks do.
int64_t groupOf(const GroupedInts &ints) { return ints.group >= ints.columns ? 128 : ints.group; }

std::optional<WeightFormat> formatFor(const GroupedInts &ints, const Survey &survey) {
  if (ints.format)
    return ints.format;
  const int bits = bitsOf(ints.bits);
  const bool zeros = !survey.shift(ints.bits, bits);
  return firstOf(bits, zeros, survey.scale(), groupOf(ints));
}

/// A tensor's name without the number of its expert.
std::string familyOf(std::string name) {
  constexpr std::string_view kExperts = "experts.";
  size_t at = name.rfind(kExperts);
  if (at == std::string::npos)
    return name;
  at += kExperts.size();
  size_t end = at;
  while (end < name.size() && name[end] >= '0' && name[end] <= '9')
    ++end;
  return name.replace(at, end - at, "*");
}

Error noFormat(const GroupedInts &ints) {
  return refuse(
      cause::quantPart,
      line("the groups of ", inQuotes(ints.name), " are of a size that is not read"),
      line("one scale for ", ints.group, " values; multiples of 32 are read, or a row"),
      "quantise the original checkpoint with groups of 32, 64 or 128, or --quantize it here");
}

class MadeOfInts : public BlockMaker {
public:
  MadeOfInts(GroupedInts ints, WeightFormat id, const Survey &survey)
      : ints(std::move(ints)), format(numericFormat(id)) {
    // Where a format with zero points stands in for one without, codes stay as they are.
    if (!format.hasZeros && !this->ints.format)
      moved = *survey.shift(this->ints.bits, format.bits);
  }

  void make(int64_t first, int64_t count, std::byte *out) const override {
    const int64_t stride = (ints.columns + 127) / 128 * 128;
    std::vector<uint8_t> q(static_cast<size_t>(count * stride));
    ints.codes(first, count, q.data(), stride);
    const int64_t blockBytes = storedBlockBytes(format.id);
    for (int64_t row = 0; row < count; ++row) {
      uint8_t *codes = q.data() + row * stride;
      for (int64_t k = 0; moved && k < ints.columns; ++k)
        codes[k] = static_cast<uint8_t>(codes[k] + moved);
      for (int64_t k = 0; k < ints.columns; k += format.group, out += blockBytes)
        putBlock(out, first + row, k / ints.group, codes + k);
    }
  }

  int64_t firstNotFinite(int64_t first, int64_t count) const override {
    const int64_t groups = (ints.columns + ints.group - 1) / ints.group;
    for (int64_t row = first; row < first + count; ++row)
      for (int64_t g = 0; g < groups; ++g)
        if (!std::isfinite(ints.scale(row, g)))
          return row * ints.columns + g * ints.group;
    return -1;
  }

private:
  /// Scale, zero point, codes.
  void putBlock(std::byte *to, int64_t row, int64_t group, const uint8_t *q) const {
    const float scale = ints.scale(row, group);
    const uint32_t bits = std::bit_cast<uint32_t>(scale);
    const uint16_t half = format.scale == Scale::F16
                              ? std::bit_cast<uint16_t>(static_cast<_Float16>(scale))
                              : static_cast<uint16_t>(bits >> 16);
    if (format.scale == Scale::F32)
      std::memcpy(to, &bits, 4);
    else
      std::memcpy(to, &half, 2);
    to += format.scaleBytes();
    if (format.hasZeros)
      *to++ = static_cast<std::byte>(ints.zero(row, group));
    if (format.bits == 8)
      std::memcpy(to, q, static_cast<size_t>(format.group));
    else
      for (int k = 0; k < format.group; k += 2)
        *to++ = static_cast<std::byte>(q[k] | q[k + 1] << 4);
  }

  const GroupedInts ints;
  const NumericFormat &format;
  int moved = 0; ///< what is added to each code
};

} // namespace

Result<void> addGroupedInts(RawTensors &parts, std::vector<GroupedInts> matrices) {
  std::map<std::string, Survey> surveys;
  for (const GroupedInts &ints : matrices)
    if (!ints.format)
      surveys[familyOf(ints.name)].add(ints);
  for (GroupedInts &ints : matrices) {
    const Survey &survey = surveys[familyOf(ints.name)];
    const std::optional<WeightFormat> id = formatFor(ints, survey);
    if (!id)
      return noFormat(ints);
    Tensor tensor{ints.name, *id, {ints.rows, ints.columns}, {}};
    tensor.maker = std::make_shared<MadeOfInts>(std::move(ints), *id, survey);
    if (auto fresh = parts.put(std::move(tensor)); !fresh)
      return fresh;
  }
  return {};
}

WeightFormat formatOfGroups(int bits, int64_t group, bool zeros) {
  const int64_t known = group < 32 || group % 32 != 0 ? 128 : group;
  return firstOf(bitsOf(bits), zeros, Scale::F16, known).value_or(WeightFormat::Int4G128);
}

} // namespace ingot::import
