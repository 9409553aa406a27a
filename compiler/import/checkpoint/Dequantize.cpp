//===- Dequantize.cpp - The formulas of NumericFormat.h -------------------===//
#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/import/blocks/Bytes.h"
#include "compiler/import/error/ImportErrors.h"
#include "runtime/formats/E4M3.h"
#include "runtime/formats/E8M0.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

namespace ingot::import {

namespace {

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
  const float d = parts.d, m = parts.m;
  const int zero = numeric.hasZeros ? parts.t[0] : numeric.zeroPoint;
  const bool adds = numeric.hasMin && !numeric.hasZeros;
  for (int start = 0; start < values; start += numeric.group) {
    int g = start / numeric.group;
    float scale = d, minimum = m;
    if (numeric.kind == NumericFormat::Kind::SuperAffine) {
      scale = d * (numeric.floatSubScales ? f32FromE4M3(static_cast<uint8_t>(parts.s[g]))
                                          : static_cast<float>(parts.s[g]));
      minimum = numeric.hasMin ? -(m * static_cast<float>(parts.t[g])) : 0.0f;
    }
    for (int k = start; k < start + numeric.group; ++k) {
      float product = scale * static_cast<float>(numeric.numberOf(parts.q[k]) - zero);
      out[k] = adds ? product + minimum : product;
    }
  }
}

Result<void> dequantizeRow(WeightFormat storedFormat, std::span<const std::byte> row,
                           std::span<float> out) {
  const int64_t values = storedBlockValues(storedFormat), bytes = storedBlockBytes(storedFormat);
  const auto k = static_cast<int64_t>(out.size());
  if (!storesRowsOf(storedFormat, k) ||
      static_cast<int64_t>(row.size()) != storedRowBytes(storedFormat, k))
    return refuse(cause::rowLength, "a stored row has the wrong length",
                  line(row.size(), " bytes of ", numericFormat(storedFormat).name, " for ", k,
                       " values; ", bytes, " bytes hold ", values),
                  "report this: the importer should have refused the tensor");
  if (numericFormat(storedFormat).isFloat()) {
    dequantizeFloats(storedFormat, row.data(), out);
    return {};
  }
  BlockParts parts;
  const std::byte *block = row.data();
  for (int64_t at = 0; at < k; at += values, block += bytes) {
    unpackBlock(storedFormat, block, parts);
    if (at + values <= k) {
      dequantizeParts(storedFormat, parts, out.data() + at);
      continue;
    }
    float last[256];
    dequantizeParts(storedFormat, parts, last);
    std::copy_n(last, k - at, out.data() + at);
  }
  return {};
}

Result<void> dequantizeRow(const Tensor &tensor, int64_t index, std::span<float> out) {
  std::vector<std::byte> room;
  std::span<const std::byte> row = tensorRows(tensor, index, 1, room);
  if (!numericFormat(tensor.format).isScaledFloat())
    return dequantizeRow(tensor.format, row, out);
  assert(out.size() == row.size() && "fp8 has one byte for each value");
  for (size_t k = 0; k < out.size(); ++k)
    out[k] =
        tensor.scale(index, static_cast<int64_t>(k)) * f32FromE4M3(static_cast<uint8_t>(row[k]));
  return {};
}

std::span<const std::byte> tensorRow(const Tensor &tensor, int64_t index) {
  assert(!tensor.maker && "rows that are made have no place");
  std::vector<std::byte> none;
  return tensorRows(tensor, index, 1, none);
}

std::span<const std::byte> tensorRows(const Tensor &tensor, int64_t first, int64_t count,
                                      std::vector<std::byte> &room) {
  const int64_t bytes = storedRowBytes(tensor.format, tensor.shape.back());
  assert(first >= 0 && count >= 1 &&
         static_cast<uint64_t>((first + count) * bytes) <= tensor.bytes() &&
         "the tensor has fewer rows");
  if (!tensor.maker)
    return tensor.data.subspan(static_cast<size_t>(first * bytes),
                               static_cast<size_t>(count * bytes));
  room.resize(static_cast<size_t>(count * bytes));
  tensor.maker->make(first, count, room.data());
  return room;
}

namespace {

bool isFiniteF16(uint16_t bits) { return (bits & 0x7C00) != 0x7C00; }
bool isFiniteBF16(uint16_t bits) { return (bits & 0x7F80) != 0x7F80; }
bool isPowerE8M0(uint8_t code) { return !isE8M0NaN(code); }
bool isFiniteF32(uint32_t bits) { return (bits & 0x7F800000) != 0x7F800000; }
bool isNumberE4M3(uint8_t code) { return !isE4M3NaN(code); }

/// Tests `count` elements, which are `stride` bytes apart. Returns the index of the first one that fails, or -1 if none
/// does. The function works in chunks, so that the inner loop has no exit and can be vectorised.
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

/// Returns the error for a value that is not finite. `value` is its index in the tensor.
Error notFinite(const Tensor &tensor, std::string_view what, int64_t value) {
  int64_t k = tensor.shape.back();
  return refuse(
      cause::notFinite,
      line("tensor ", inQuotes(tensor.name), " has a ", what, " that is NaN or infinite"),
      line("first at row ", value / k, ", column ", value % k, " of ", tensor.elements() / k, " x ",
           k, " (", numericFormat(tensor.format).name, ")"),
      "use another file of the model, or convert the original again: a model with such a weight "
      "cannot answer");
}

/// Checks the scales in the stored blocks of some rows. Codes need no check, because they are never NaN.
Result<void> checkScales(const Tensor &tensor, const StoredBlock &block, int64_t first,
                         int64_t count) {
  const int64_t k = tensor.shape.back(), inRow = (k + block.values - 1) / block.values;
  if (tensor.shape.size() == 1) // the arguments count its elements, not rows
    first = 0, count = 1;
  const std::byte *data = tensor.data.data() + first * inRow * block.bytes;
  const auto check = [&](std::string_view what, int at, StoredScale kind) -> Result<void> {
    const std::byte *from = data + at;
    int64_t bad = -1;
    switch (kind) {
    case StoredScale::F16:
      bad = firstBad<uint16_t>(from, count * inRow, block.bytes, isFiniteF16);
      break;
    case StoredScale::BF16:
      bad = firstBad<uint16_t>(from, count * inRow, block.bytes, isFiniteBF16);
      break;
    case StoredScale::F32:
      bad = firstBad<uint32_t>(from, count * inRow, block.bytes, isFiniteF32);
      break;
    case StoredScale::E8M0:
      bad = firstBad<uint8_t>(from, count * inRow, block.bytes, isPowerE8M0);
      break;
    }
    if (bad < 0)
      return {};
    return notFinite(tensor, what, (first + bad / inRow) * k + bad % inRow * block.values);
  };
  if (block.scaleAt < 0) { // the scale is spread over several fields
    BlockParts parts;
    for (int64_t i = 0; i < count * inRow; ++i) {
      unpackBlock(tensor.format, data + i * block.bytes, parts);
      if (!std::isfinite(parts.d))
        return notFinite(tensor, "scale", (first + i / inRow) * k + i % inRow * block.values);
    }
    return {};
  }
  if (auto scale = check("scale", block.scaleAt, block.scale); !scale || block.minAt < 0)
    return scale;
  return check("minimum", block.minAt, block.minScale());
}

} // namespace

Result<void> checkFinite(const Tensor &tensor) {
  const int64_t k = tensor.shape.size() == 1 ? 1 : tensor.shape.back();
  return checkFinite(tensor, 0, tensor.elements() / k);
}

Result<void> checkFinite(const Tensor &tensor, int64_t first, int64_t count) {
  const int64_t bytes = storedBlockBytes(tensor.format);
  const int64_t k = tensor.shape.size() == 1 ? 1 : tensor.shape.back(), before = first * k;
  if (tensor.maker) {
    const int64_t bad = tensor.maker->firstNotFinite(first, count);
    return bad < 0 ? Result<void>() : notFinite(tensor, "scale", bad);
  }
  if (const StoredBlock *block = storedBlock(tensor.format))
    return checkScales(tensor, *block, first, count);
  const std::byte *data = tensor.data.data() + before * bytes;
  int64_t bad = -1;
  switch (tensor.format) {
  case WeightFormat::F32:
    bad = firstBad<uint32_t>(data, count * k, 4, isFiniteF32);
    break;
  case WeightFormat::F16:
    bad = firstBad<uint16_t>(data, count * k, 2, isFiniteF16);
    break;
  case WeightFormat::BF16:
    bad = firstBad<uint16_t>(data, count * k, 2, isFiniteBF16);
    break;
  default:
    bad = firstBad<uint8_t>(data, count * k, 1, isNumberE4M3);
    break;
  }
  return bad < 0 ? Result<void>() : notFinite(tensor, "value", before + bad);
}

} // namespace ingot::import
