//===- GroupedInts.cpp - See GroupedInts.h ---------------------------------===//
#include "compiler/import/parts/GroupedInts.h"
#include "compiler/import/blocks/Codes.h"
#include "compiler/import/error/ImportErrors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace ingot::import {

namespace {

using Scale = NumericFormat::Scale;

bool fitsF16(float value) { return static_cast<float>(static_cast<_Float16>(value)) == value; }
bool fitsBF16(float value) { return (std::bit_cast<uint32_t>(value) & 0xffff) == 0; }

/// The properties that all scales and zero points of one or more matrices have in common.
struct Survey {
  bool f16 = true, bf16 = true;
  bool unsorted = false; ///< a matrix has columns that cannot be sorted by group
  int leastZero = 255, mostZero = 0;

  void add(const GroupedInts &ints) {
    const int64_t groups = (ints.columns + ints.group - 1) / ints.group;
    for (int64_t row = 0; row < ints.rows; ++row)
      for (int64_t g = 0; g < groups; ++g) {
        const float scale = ints.scale(row, g);
        f16 &= fitsF16(scale), bf16 &= fitsBF16(scale);
        if (ints.minimum) {
          const float minimum = ints.minimum(row, g);
          f16 &= fitsF16(minimum), bf16 &= fitsBF16(minimum);
          continue;
        }
        const int zero = ints.zero(row, g);
        leastZero = std::min(leastZero, zero), mostZero = std::max(mostZero, zero);
      }
  }
  Scale scale() const { return f16 ? Scale::F16 : bf16 ? Scale::BF16 : Scale::F32; }
  /// Returns the offset to add to codes so that their common zero point becomes the middle of the range of `bits` bits.
  /// Returns nothing if that is impossible.
  std::optional<int> shift(int codeBits, int bits) const {
    const int by = (1 << (bits - 1)) - leastZero;
    if (leastZero != mostZero || by < 0 || (1 << codeBits) - 1 + by >= 1 << bits)
      return std::nullopt;
    return by;
  }
};

/// Formats in order of preference: formats with larger groups come first.
constexpr WeightFormat kFormats[] = {
    WeightFormat::Int4G128,  WeightFormat::Int4G64,   WeightFormat::Int4G32,
    WeightFormat::Int4BG128, WeightFormat::Int4BG32,  WeightFormat::Int4ZG128,
    WeightFormat::Int4ZG64,  WeightFormat::Int4ZG32,  WeightFormat::Int4ZBG128,
    WeightFormat::Int4ZBG32, WeightFormat::Int4ZFG32, WeightFormat::Int8F,
    WeightFormat::Int8,      WeightFormat::Int8ZF,
};
constexpr WeightFormat kAboveMinimums[] = {
    WeightFormat::Int4MG64,  WeightFormat::Int4MG32,  WeightFormat::Int8MG32,
    WeightFormat::Int4MBG64, WeightFormat::Int4MBG32, WeightFormat::Int8MBG32,
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

int bitsOf(int codeBits) { return codeBits > 4 ? 8 : 4; }

/// Returns the group size for which a format is chosen. A single group over all K may have any length, because rows may
/// end inside a block, so it counts as 128.
int64_t groupOf(const GroupedInts &ints) { return ints.group >= ints.columns ? 128 : ints.group; }

/// Returns whether the matrix must be stored as floats, because no integer format fits. Either its columns cannot be
/// sorted by group, or its minimums require f32.
bool becomesFloats(const GroupedInts &ints, const Survey &survey) {
  return survey.unsorted || (ints.minimum && survey.scale() == Scale::F32);
}

std::optional<WeightFormat> formatFor(const GroupedInts &ints, const Survey &survey) {
  if (ints.format)
    return ints.format;
  if (becomesFloats(ints, survey))
    return survey.f16 ? WeightFormat::F16 : survey.bf16 ? WeightFormat::BF16 : WeightFormat::F32;
  const int bits = bitsOf(ints.bits);
  if (ints.minimum) {
    for (WeightFormat id : kAboveMinimums)
      if (const NumericFormat &format = numericFormat(id); format.bits == bits &&
                                                           format.scale == survey.scale() &&
                                                           groupOf(ints) % format.group == 0)
        return id;
    return std::nullopt;
  }
  const bool zeros = !survey.shift(ints.bits, bits);
  return firstOf(bits, zeros, survey.scale(), groupOf(ints));
}

/// Returns a tensor's name without the number of its expert.
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

/// The original index of each column, in the form that lm.permute reads. It is null if the columns cannot be sorted.
using Columns = std::shared_ptr<const std::vector<float>>;

/// Returns the columns sorted by group, or null unless every group has as many columns as `ints.group`.
Columns sortedColumns(const GroupedInts &ints) {
  std::vector<int32_t> columns(ints.order.size());
  std::iota(columns.begin(), columns.end(), 0);
  auto groupOf = [&](int32_t column) { return ints.order[static_cast<size_t>(column)]; };
  std::ranges::sort(columns, {},
                    [&](int32_t column) { return std::pair(groupOf(column), column); });
  for (size_t k = 0; k < columns.size(); ++k)
    if (groupOf(columns[k]) != static_cast<int64_t>(k) / ints.group)
      return nullptr;
  return std::make_shared<std::vector<float>>(columns.begin(), columns.end());
}

/// Sorts the codes of a matrix by group, and adds the vector of the columns' original indices.
Result<void> sortColumns(CheckpointBuilder &builder, RawTensors &parts, GroupedInts &ints,
                         const Columns &columns) {
  builder.keep(columns);
  ints.order.clear();
  ints.codes = [stored = std::move(ints.codes), columns](int64_t first, int64_t count, uint8_t *q,
                                                         int64_t stride) {
    std::vector<uint8_t> row(static_cast<size_t>(stride));
    stored(first, count, q, stride);
    for (int64_t n = 0; n < count; ++n, q += stride) {
      std::copy_n(q, stride, row.begin());
      for (size_t k = 0; k < columns->size(); ++k)
        q[k] = row[static_cast<size_t>((*columns)[k])];
    }
  };
  return parts.put({columnsOfWeight(ints.name),
                    WeightFormat::F32,
                    {ints.columns},
                    std::as_bytes(std::span<const float>(*columns))});
}

Error noFormat(const GroupedInts &ints) {
  return refuse(
      cause::quantPart, line("the group size of ", inQuotes(ints.name), " is not supported"),
      line("one scale for ", ints.group, " values; supported: multiples of 32, or a whole row"),
      "quantise the original checkpoint with groups of 32, 64 or 128, or --quantize it here");
}

class MadeOfInts : public BlockMaker {
public:
  MadeOfInts(GroupedInts ints, WeightFormat id, const Survey &survey)
      : ints(std::move(ints)), format(numericFormat(id)) {
    // If a format with zero points replaces one without, codes remain unchanged.
    if (!format.hasMin && !this->ints.format)
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
        if (!std::isfinite(ints.scale(row, g)) ||
            (ints.minimum && !std::isfinite(ints.minimum(row, g))))
          return row * ints.columns + g * ints.group;
    return -1;
  }

private:
  /// Writes the scale, the minimum or zero point, and the codes.
  void putBlock(std::byte *to, int64_t row, int64_t group, const uint8_t *q) const {
    to = putNumber(to, ints.scale(row, group));
    if (ints.minimum)
      to = putNumber(to, ints.minimum(row, group));
    if (format.hasZeros)
      *to++ = static_cast<std::byte>(ints.zero(row, group));
    if (format.bits == 8)
      std::memcpy(to, q, static_cast<size_t>(format.group));
    else
      for (int k = 0; k < format.group; k += 2)
        *to++ = static_cast<std::byte>(q[k] | q[k + 1] << 4);
  }

  /// Writes a number in the type of the format's scales, which represents it exactly.
  std::byte *putNumber(std::byte *to, float number) const {
    const uint32_t bits = std::bit_cast<uint32_t>(number);
    const uint16_t half = format.scale == Scale::F16
                              ? std::bit_cast<uint16_t>(static_cast<_Float16>(number))
                              : static_cast<uint16_t>(bits >> 16);
    if (format.scale == Scale::F32)
      std::memcpy(to, &bits, 4);
    else
      std::memcpy(to, &half, 2);
    return to + format.scaleBytes();
  }

  const GroupedInts ints;
  const NumericFormat &format;
  int moved = 0; ///< offset added to each code
};

/// Makes the values of matrices that become floats (becomesFloats). If one expert must become floats, all experts do.
class MultipliedOut : public BlockMaker {
public:
  MultipliedOut(GroupedInts given, WeightFormat format) : ints(std::move(given)), format(format) {
    for (int64_t k = 0; ints.order.empty() && k < ints.columns; ++k)
      following.push_back(static_cast<int32_t>(k / ints.group));
  }

  void make(int64_t first, int64_t count, std::byte *out) const override {
    std::vector<uint8_t> q(static_cast<size_t>(count * ints.columns));
    ints.codes(first, count, q.data(), ints.columns);
    const auto groups = static_cast<size_t>(*std::ranges::max_element(order())) + 1;
    std::vector<float> scales(groups), minimums(groups);
    std::vector<int> zeros(groups);
    for (int64_t row = 0; row < count; ++row) {
      for (size_t g = 0; g < groups; ++g) {
        scales[g] = ints.scale(first + row, static_cast<int64_t>(g));
        if (ints.minimum)
          minimums[g] = ints.minimum(first + row, static_cast<int64_t>(g));
        else
          zeros[g] = ints.zero(first + row, static_cast<int64_t>(g));
      }
      for (int64_t k = 0; k < ints.columns; ++k) {
        const auto g = static_cast<size_t>(order()[static_cast<size_t>(k)]);
        const int code = q[static_cast<size_t>(row * ints.columns + k)] - zeros[g];
        const float product = scales[g] * static_cast<float>(code);
        out = put(out, ints.minimum ? product + minimums[g] : product);
      }
    }
  }

  int64_t firstNotFinite(int64_t first, int64_t count) const override {
    for (int64_t row = first; row < first + count; ++row)
      for (int64_t k = 0; k < ints.columns; ++k)
        if (const int64_t g = order()[static_cast<size_t>(k)];
            !std::isfinite(ints.scale(row, g)) ||
            (ints.minimum && !std::isfinite(ints.minimum(row, g))))
          return row * ints.columns + k;
    return -1;
  }

private:
  const std::vector<int32_t> &order() const { return ints.order.empty() ? following : ints.order; }

  std::byte *put(std::byte *to, float value) const {
    if (format == WeightFormat::F32) {
      std::memcpy(to, &value, sizeof value);
      return to + sizeof value;
    }
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint16_t half =
        format == WeightFormat::F16
            ? std::bit_cast<uint16_t>(static_cast<_Float16>(value))
            : static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16); // ties to even
    std::memcpy(to, &half, sizeof half);
    return to + sizeof half;
  }

  const GroupedInts ints;
  const WeightFormat format;
  std::vector<int32_t> following; ///< the group of each k, if groups are contiguous
};

} // namespace

std::string columnsOfWeight(std::string_view weight) {
  constexpr std::string_view kEnding = ".weight";
  if (weight.ends_with(kEnding))
    weight.remove_suffix(kEnding.size());
  return std::string(weight) + ".columns";
}

Result<std::vector<int32_t>> readOrder(const Part &part, int64_t group, int64_t groups) {
  std::vector<int32_t> order(static_cast<size_t>(part.elements()));
  bool follow = true;
  for (int64_t k = 0; k < part.elements(); ++k) {
    const int64_t of = part.integer(k);
    if (of < 0 || of >= groups)
      return refuse(cause::quantPart, line("a column of ", inQuotes(part.name), " has no group"),
                    line("column ", k, " is in group ", of, " of ", groups),
                    "take all tensors from the same checkpoint");
    order[static_cast<size_t>(k)] = static_cast<int32_t>(of);
    follow &= of == k / group;
  }
  return follow ? std::vector<int32_t>() : order;
}

Result<void> addGroupedInts(CheckpointBuilder &builder, RawTensors &parts,
                            std::vector<GroupedInts> matrices) {
  std::map<std::string, Survey> surveys;
  Columns last; // shared by gate and up of an expert, which have one order; there may be thousands
  for (GroupedInts &ints : matrices) {
    if (ints.order.empty())
      continue;
    Columns columns = sortedColumns(ints);
    if (!columns) {
      surveys[familyOf(ints.name)].unsorted = true;
      continue;
    }
    if (!last || *last != *columns)
      last = std::move(columns);
    if (auto sorted = sortColumns(builder, parts, ints, last); !sorted)
      return sorted;
  }
  for (const GroupedInts &ints : matrices)
    if (!ints.format)
      surveys[familyOf(ints.name)].add(ints);
  size_t unsorted = 0, wide = 0;
  for (GroupedInts &ints : matrices) {
    const Survey &survey = surveys[familyOf(ints.name)];
    const std::optional<WeightFormat> id = formatFor(ints, survey);
    if (!id)
      return noFormat(ints);
    Tensor tensor{ints.name, *id, {ints.rows, ints.columns}, {}};
    if (!ints.format && becomesFloats(ints, survey)) {
      ++(survey.unsorted ? unsorted : wide);
      tensor.maker = std::make_shared<MultipliedOut>(std::move(ints), *id);
    } else {
      tensor.maker = std::make_shared<MadeOfInts>(std::move(ints), *id, survey);
    }
    if (auto fresh = parts.put(std::move(tensor)); !fresh)
      return fresh;
  }
  if (unsorted)
    builder.note(line(
        unsorted, " matrices have group sizes that differ from the configuration ",
        "(desc_act, actorder), or are experts next to such matrices. Their columns cannot be "
        "sorted, so they are ",
        "stored as f16 or bf16, as GPTQ's own kernels multiply them, in several times the bytes"));
  if (wide)
    builder.note(line(
        wide,
        " matrices have scales and minimums of f32, which no integer format supports: they are "
        "stored as f32, in several times the bytes"));
  return {};
}

WeightFormat formatOfGroups(int bits, int64_t group, bool zeros) {
  const int64_t known = group < 32 || group % 32 != 0 ? 128 : group;
  return firstOf(bitsOf(bits), zeros, Scale::F16, known).value_or(WeightFormat::Int4G128);
}

} // namespace ingot::import
