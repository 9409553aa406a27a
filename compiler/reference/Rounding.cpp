//===- Rounding.cpp - Rounds numbers to a format --------------------------===//
#include "compiler/reference/Rounding.h"

#include "runtime/formats/KvInt8.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

using namespace ingot;
using namespace ingot::reference;

float reference::roundToF16(float value) {
  return static_cast<float>(static_cast<_Float16>(value));
}

float reference::roundToBf16(float value) {
  if (!std::isfinite(value))
    return value;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  bits += 0x7FFFu + ((bits >> 16) & 1u);
  return std::bit_cast<float>(bits & 0xFFFF0000u);
}

void reference::roundScaledE4m3(std::span<float> vector) {
  float most = 0;
  for (float value : vector)
    most = std::max(most, std::abs(value));
  float scale = most >= 0x1p-110f ? most / 448 : 1;
  for (float &value : vector) {
    float code = std::clamp(value / scale, -448.0f, 448.0f);
    int exponent = std::max(std::ilogb(code), -6); // smaller exponents are subnormal
    float step = std::ldexp(1.0f, exponent - 3);
    value = (code == 0 ? code : std::nearbyint(code / step) * step) * scale;
  }
}

/// Rounds one group: all its values become scale * code with an integer code.
static void roundGroup(const NumericFormat &format, std::span<float> group) {
  float extreme = 0;
  for (float value : group)
    if (std::abs(value) > std::abs(extreme))
      extreme = value;
  bool eight = format.bits == 8;
  float scale = roundToF16(eight ? std::abs(extreme) / 127 : extreme / -8);
  if (scale == 0 && extreme != 0)
    scale = std::copysign(0x1p-24f, scale); // f16's smallest number
  float inverse = scale != 0 ? 1 / scale : 0;
  float low = eight ? -127 : -8, high = eight ? 127 : 7;
  for (float &value : group)
    value = scale * std::clamp(std::nearbyint(value * inverse), low, high);
}

/// Returns the nearest E4M3 value, ties to even. It computes the result from the spacing of E4M3 values at `value`.
static float roundToE4M3(float value) {
  int exponent = 0;
  std::frexp(value, &exponent); // |value| is in [2^(exponent-1), 2^exponent)
  float step = std::ldexp(1.0f, std::max(exponent - 1, -6) - 3);
  return std::clamp(std::nearbyint(value / step) * step, -448.0f, 448.0f);
}

void reference::transformHadamard(std::span<float> x) {
  const auto count = static_cast<int64_t>(x.size());
  for (int64_t step = 1; step < kvInt8Block(count); step *= 2)
    for (int64_t i = 0; i < count; ++i)
      if ((i & step) == 0) {
        const float a = x[i], b = x[i + step];
        x[i] = a + b;
        x[i + step] = a - b;
      }
}

void reference::roundScaledInt8(std::span<float> vector, bool ofK) {
  if (ofK)
    transformHadamard(vector);
  float largest = 0;
  for (float value : vector)
    largest = std::max(largest, std::abs(value));
  const bool small = largest / 127 < kKvInt8LeastScale;
  const float scale = largest / 127, factor = small ? 0 : 127 / largest;
  for (float &value : vector)
    value = small ? 0 : std::nearbyint(value * factor) * scale;
  if (!ofK)
    return;
  transformHadamard(vector);
  for (float &value : vector)
    value /= static_cast<float>(kvInt8Block(static_cast<int64_t>(vector.size())));
}

/// Rounds a row with a single scale.
static void roundFp8(std::span<float> row) {
  float largest = 0;
  for (float value : row)
    largest = std::max(largest, std::abs(value));
  const float scale = largest / 448;
  for (float &value : row)
    value = scale != 0 ? scale * roundToE4M3(value / scale) : 0;
}

Result<void> reference::roundRow(WeightFormat id, std::span<float> row) {
  const NumericFormat &format = numericFormat(id);
  switch (id) {
  case WeightFormat::F32:
    return {};
  case WeightFormat::F16:
    std::ranges::transform(row, row.begin(), roundToF16);
    return {};
  case WeightFormat::BF16:
    std::ranges::transform(row, row.begin(), roundToBf16);
    return {};
  case WeightFormat::Int8:
  case WeightFormat::Int4G32:
  case WeightFormat::Int4G64:
  case WeightFormat::Int4G128: {
    auto width = static_cast<size_t>(format.group);
    for (size_t at = 0; at < row.size(); at += width)
      roundGroup(format, row.subspan(at, std::min(width, row.size() - at)));
    return {};
  }
  case WeightFormat::Fp8:
    roundFp8(row);
    return {};
  default:
    return Error{
        ExitCode::Internal, "E0452", "weights cannot be rounded to " + std::string(format.name),
        "only checkpoints have that format; --quantize produces int8, int4 and fp8", "report this"};
  }
}
