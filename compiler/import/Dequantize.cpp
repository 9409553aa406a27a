//===- Dequantize.cpp - The formulas of NumericFormat.h -------------------===//
#include "compiler/import/Dequantize.h"
#include "compiler/import/ImportErrors.h"
#include "runtime/formats/E4M3.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace ingot::import {

namespace {

template <typename T> T load(const std::byte *p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

void dequantizeFloats(WeightFormat format, const std::byte *row, std::span<float> out) {
  if (format == WeightFormat::F32) {
    std::memcpy(out.data(), row, out.size_bytes());
    return;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t bits = load<uint16_t>(row + 2 * i);
    out[i] = format == WeightFormat::F16 ? f16ToF32(bits)
                                         : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
}

} // namespace

void dequantizeParts(WeightFormat format, const BlockParts &parts, float *out) {
  const NumericFormat &numeric = numericFormat(format);
  const int values = numeric.block();
  const float d = f16ToF32(parts.d);
  const float m = f16ToF32(parts.m);
  for (int start = 0; start < values; start += numeric.group) {
    int g = start / numeric.group;
    float scale = d, minimum = m;
    if (numeric.kind == NumericFormat::Kind::SuperAffine) {
      scale = d * static_cast<float>(parts.s[g]);
      minimum = numeric.hasMin ? -(m * static_cast<float>(parts.t[g])) : 0.0f;
    }
    for (int k = start; k < start + numeric.group; ++k) {
      float product = scale * static_cast<float>(parts.q[k] - numeric.zeroPoint);
      out[k] = numeric.hasMin ? product + minimum : product;
    }
  }
}

Result<void> dequantizeRow(WeightFormat storedFormat, std::span<const std::byte> row,
                           std::span<float> out) {
  const int64_t values = storedBlockValues(storedFormat), bytes = storedBlockBytes(storedFormat);
  const auto k = static_cast<int64_t>(out.size());
  if (k % values != 0 || static_cast<int64_t>(row.size()) != k / values * bytes)
    return refuse(cause::keyType, "a stored row has the wrong length",
                  line(row.size(), " bytes of ", numericFormat(storedFormat).name, " for ", k,
                       " values; ", bytes, " bytes hold ", values),
                  "report this: the importer should have refused the tensor");
  if (numericFormat(storedFormat).isFloat()) {
    dequantizeFloats(storedFormat, row.data(), out);
    return {};
  }
  BlockParts parts;
  for (int64_t block = 0; block < k / values; ++block) {
    unpackBlock(storedFormat, row.data() + block * bytes, parts);
    dequantizeParts(storedFormat, parts, out.data() + block * values);
  }
  return {};
}

Result<void> dequantizeRow(const Tensor &tensor, int64_t index, std::span<float> out) {
  std::span<const std::byte> row = tensorRow(tensor, index);
  if (!numericFormat(tensor.format).isScaledFloat())
    return dequantizeRow(tensor.format, row, out);
  assert(out.size() == row.size());
  for (size_t k = 0; k < out.size(); ++k)
    out[k] =
        tensor.scale(index, static_cast<int64_t>(k)) * f32FromE4M3(static_cast<uint8_t>(row[k]));
  return {};
}

std::span<const std::byte> tensorRow(const Tensor &tensor, int64_t index) {
  int64_t k = tensor.shape.back();
  int64_t bytes = storedRowBytes(tensor.format, k);
  assert(index >= 0 && (index + 1) * bytes <= static_cast<int64_t>(tensor.data.size()));
  return tensor.data.subspan(static_cast<size_t>(index * bytes), static_cast<size_t>(bytes));
}

namespace {

bool isFiniteF16(uint16_t bits) { return (bits & 0x7C00) != 0x7C00; }
bool isFiniteBF16(uint16_t bits) { return (bits & 0x7F80) != 0x7F80; }
bool isFiniteF32(uint32_t bits) { return (bits & 0x7F800000) != 0x7F800000; }
bool isNumberE4M3(uint8_t code) { return !isE4M3NaN(code); }

/// The first of `count` elements, `stride` bytes apart, that fails; -1 if none does.
/// Chunked so that the inner loop has no exit and vectorises.
template <typename Bits, typename Test>
int64_t firstBad(const std::byte *data, int64_t count, int64_t stride, Test isFinite) {
  constexpr int64_t kChunk = 4096;
  for (int64_t start = 0; start < count; start += kChunk) {
    int64_t stop = std::min(count, start + kChunk);
    bool fine = true;
    for (int64_t i = start; i < stop; ++i)
      fine &= isFinite(load<Bits>(data + i * stride));
    if (fine)
      continue;
    for (int64_t i = start; i < stop; ++i)
      if (!isFinite(load<Bits>(data + i * stride)))
        return i;
  }
  return -1;
}

/// `value`: its number in the tensor.
Error notFinite(const Tensor &tensor, std::string_view what, int64_t value) {
  int64_t k = tensor.shape.back();
  return refuse(cause::notFinite,
                line("tensor ", inQuotes(tensor.name), " has a ", what, " that is NaN or infinite"),
                line("first at row ", value / k, ", column ", value % k, " of ",
                     tensor.elements() / k, " x ", k, " (", numericFormat(tensor.format).name, ")"),
                "download or convert the checkpoint again: its weights are damaged");
}

} // namespace

Result<void> checkFinite(const Tensor &tensor) {
  const int64_t k = tensor.shape.size() == 1 ? 1 : tensor.shape.back();
  return checkFinite(tensor, 0, tensor.elements() / k);
}

Result<void> checkFinite(const Tensor &tensor, int64_t first, int64_t count) {
  const int64_t values = storedBlockValues(tensor.format), bytes = storedBlockBytes(tensor.format);
  const int64_t k = tensor.shape.size() == 1 ? 1 : tensor.shape.back(), before = first * k;
  const std::byte *data = tensor.data.data() + before / values * bytes;
  const int64_t blocks = count * k / values;
  int64_t bad = -1;
  switch (tensor.format) {
  case WeightFormat::F32:
    bad = firstBad<uint32_t>(data, blocks, 4, isFiniteF32);
    break;
  case WeightFormat::F16:
    bad = firstBad<uint16_t>(data, blocks, 2, isFiniteF16);
    break;
  case WeightFormat::BF16:
    bad = firstBad<uint16_t>(data, blocks, 2, isFiniteBF16);
    break;
  case WeightFormat::Fp8Tensor:
  case WeightFormat::Fp8:
  case WeightFormat::Fp8Block128:
    bad = firstBad<uint8_t>(data, blocks, 1, isNumberE4M3);
    break;
  default: {
    int64_t scaleAt = tensor.format == WeightFormat::Q6_K ? bytes - 2 : 0;
    bad = firstBad<uint16_t>(data + scaleAt, blocks, bytes, isFiniteF16);
    if (bad >= 0)
      return notFinite(tensor, "scale", before + bad * values);
    if (!numericFormat(tensor.format).hasMin)
      return {};
    bad = firstBad<uint16_t>(data + 2, blocks, bytes, isFiniteF16);
    return bad < 0 ? Result<void>() : notFinite(tensor, "minimum", before + bad * values);
  }
  }
  return bad < 0 ? Result<void>() : notFinite(tensor, "value", before + bad);
}

} // namespace ingot::import
