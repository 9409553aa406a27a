//===- RowEncodings.cpp - See RowEncodings.h ------------------------------===//
#include "compiler/reference/interpreter/RowEncodings.h"

#include "compiler/reference/Rounding.h"
#include "runtime/formats/E4M3.h"
#include "runtime/formats/FragmentLayout.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace ingot;
using namespace ingot::reference;
using kernel::RowKind;

bool interpreter::holdsNumbers(RowKind kind) {
  return kind == RowKind::F32 || kind == RowKind::Q8 || kind == RowKind::Q8x2 ||
         kind == RowKind::BF16 || kind == RowKind::FP8;
}

template <typename T> static void put(std::byte *at, T value) {
  std::memcpy(at, &value, sizeof value);
}
template <typename T> static T get(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Writes one plane of 32 codes. The row's scaled sum includes `sumBefore` in addition to the codes.
static void putGroup(const Q8Row &layout, std::byte *row, int64_t group, const int8_t *codes,
                     float scale, int64_t sumBefore) {
  int32_t sum = 0, half[2] = {};
  for (int64_t i = 0; i < kGroupK; ++i) {
    put(row + group * kGroupK + i, codes[i]);
    sum += codes[i];
    half[i / 16] += codes[i];
  }
  put(row + layout.scaleOffset + 4 * group, scale);
  put(row + layout.scaledSumOffset + 4 * group, scale * static_cast<float>(sumBefore + sum));
  put(row + layout.negSumOffset + 4 * group, -sum);
  put(row + layout.negSum16Offset + 8 * group, -half[0]);
  put(row + layout.negSum16Offset + 8 * group + 4, -half[1]);
}

static void encodeQ8(std::span<const float> values, std::byte *row, bool twice) {
  const auto n = static_cast<int64_t>(values.size());
  const Q8Row layout = q8Row(n);
  for (int64_t g = 0; g < layout.groups; ++g) {
    float group[kGroupK] = {}, largest = 0;
    for (int64_t i = 0; i < kGroupK && g * kGroupK + i < n; ++i) {
      group[i] = values[size_t(g * kGroupK + i)];
      largest = std::max(largest, std::abs(group[i]));
    }
    const float scale = largest / 127, inverse = std::isfinite(127 / largest) ? 127 / largest : 0;
    int8_t codes[kGroupK], rest[kGroupK];
    int64_t sum = 0;
    for (int64_t i = 0; i < kGroupK; ++i) {
      codes[i] = static_cast<int8_t>(std::nearbyint(group[i] * inverse));
      sum += codes[i];
      const float left = std::fma(static_cast<float>(codes[i]), -scale, group[i]) * inverse * 256;
      rest[i] = static_cast<int8_t>(std::min(127.0f, std::max(-127.0f, std::nearbyint(left))));
    }
    putGroup(layout, row, g, codes, scale, 0);
    if (twice)
      putGroup(layout, row + layout.bytes, g, rest, scale / 256, 256 * sum);
  }
}

static void decodeQ8(const std::byte *row, std::span<float> values, bool twice) {
  const Q8Row layout = q8Row(static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto group = int64_t(i) / kGroupK;
    const auto code = float(get<int8_t>(row + i));
    values[i] = twice ? (256 * code + float(get<int8_t>(row + layout.bytes + int64_t(i)))) *
                            get<float>(row + layout.bytes + layout.scaleOffset + 4 * group)
                      : code * get<float>(row + layout.scaleOffset + 4 * group);
  }
}

/// Returns the position of the code of value k in an fp8 row.
static int64_t fp8Place(int64_t k) { return k / kStepK * kStepK + fp8Slot(k % kStepK); }
static int64_t fp8ScaleAt(int64_t n, int64_t k) {
  return roundUp(n, kFp8GroupK) + 4 * (k / kFp8GroupK);
}

static void encodeFp8(std::span<const float> values, std::byte *row) {
  const auto n = static_cast<int64_t>(values.size());
  for (int64_t from = 0; from < n; from += kFp8GroupK) {
    const int64_t count = std::min(kFp8GroupK, n - from);
    float largest = 0;
    for (int64_t i = 0; i < count; ++i)
      largest = std::max(largest, std::abs(values[size_t(from + i)]));
    const float scale = largest >= 0x1p-110f ? largest / kE4M3Largest : 1;
    for (int64_t i = 0; i < count; ++i)
      put(row + fp8Place(from + i), e4m3FromF32(values[size_t(from + i)] / scale));
    put(row + fp8ScaleAt(n, from), scale);
  }
}

void interpreter::encodeRow(kernel::ActivationType type, std::span<const float> values,
                            std::byte *row) {
  std::memset(row, 0, size_t(type.rowBytes()));
  switch (type.getKind()) {
  case RowKind::F32:
    std::memcpy(row, values.data(), values.size_bytes());
    return;
  case RowKind::BF16:
    for (size_t i = 0; i < values.size(); ++i)
      put(row + 2 * i,
          static_cast<uint16_t>(std::bit_cast<uint32_t>(roundToBf16(values[i])) >> 16));
    return;
  case RowKind::Q8:
  case RowKind::Q8x2:
    return encodeQ8(values, row, type.getKind() == RowKind::Q8x2);
  case RowKind::FP8:
    return encodeFp8(values, row);
  case RowKind::Key:
  case RowKind::I32:
  case RowKind::Bytes:
    break;
  }
  llvm_unreachable("these rows hold no numbers");
}

void interpreter::decodeRow(kernel::ActivationType type, const std::byte *row,
                            std::span<float> values) {
  switch (type.getKind()) {
  case RowKind::F32:
    std::memcpy(values.data(), row, values.size_bytes());
    return;
  case RowKind::BF16:
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = std::bit_cast<float>(uint32_t(get<uint16_t>(row + 2 * i)) << 16);
    return;
  case RowKind::Q8:
  case RowKind::Q8x2:
    return decodeQ8(row, values, type.getKind() == RowKind::Q8x2);
  case RowKind::FP8:
    for (size_t i = 0; i < values.size(); ++i) {
      const auto k = int64_t(i);
      values[i] = f32FromE4M3(get<uint8_t>(row + fp8Place(k))) *
                  get<float>(row + fp8ScaleAt(int64_t(values.size()), k));
    }
    return;
  case RowKind::Key:
  case RowKind::I32:
  case RowKind::Bytes:
    break;
  }
  llvm_unreachable("these rows hold no numbers");
}

uint64_t interpreter::keyOf(float logit, int64_t index) {
  if (std::isnan(logit))
    return 0;
  const auto bits = std::bit_cast<uint32_t>(logit + 0.0f);
  const uint32_t sorted = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return uint64_t(sorted) << 32 | static_cast<uint32_t>(~static_cast<uint32_t>(index));
}
int32_t interpreter::idOf(uint64_t key) { return key ? ~static_cast<int32_t>(key) : 0; }
