//===- Mxfp8.cpp - Matrices of MXFP8 ---------------------------------------===//
//
//   codes   F8_E4M3 [N, K], or U32 [N, K / 4], the first in the lowest byte
//   scales  U8 [N, K / 32]: 2^(s - 127)
//
// Model Optimizer, compressed-tensors and MLX store matrices this way, under names of their own (OCP Microscaling
// Formats 1.0). A product of code and scale has a significand of 4 bits, so bf16 represents it exactly. Such a matrix
// therefore becomes bf16.
//===----------------------------------------------------------------------===//
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/methods/Quantized.h"
#include "compiler/import/parts/ByteScales.h"
#include "compiler/import/parts/GroupMaker.h"
#include "runtime/formats/E4M3.h"
#include "runtime/formats/E8M0.h"

#include <bit>
#include <cstring>

namespace ingot::import {

namespace {

class MadeOfMxfp8 : public GroupMaker {
public:
  using GroupMaker::GroupMaker;

protected:
  std::byte *makeRow(int64_t row, std::byte *out) const override {
    for (int64_t g = 0; g < groupsOfRow(); ++g) {
      const float power = f32FromE8M0(scaleOf(row, g));
      const std::byte *from = codesOf(row, g, 8);
      for (int64_t k = 0; k < group; ++k, out += 2) {
        const float value = f32FromE4M3(static_cast<uint8_t>(from[k])) * power;
        const auto upper = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
        std::memcpy(out, &upper, sizeof upper);
      }
    }
    return out;
  }
  int64_t notFiniteIn(int64_t row, int64_t g) const override {
    const std::byte *from = codesOf(row, g, 8);
    for (int64_t k = 0; k < group; ++k)
      if (isE8M0NaN(scaleOf(row, g)) || isE4M3NaN(static_cast<uint8_t>(from[k])))
        return k;
    return -1;
  }
};

} // namespace

Result<void> addMxfp8(RawTensors &parts, const std::string &name, const CodesAndScales &stored) {
  Result<const Part *> codes = parts.take(stored.codes, "F8_E4M3 U32", {-1, -1});
  if (!codes)
    return codes.error();
  const int64_t n = (*codes)->shape[0], k = (*codes)->shape[1] * ((*codes)->dtype == "U32" ? 4 : 1);
  if (auto whole = expectWholeGroups(name, k, 32); !whole)
    return whole;
  Result<const Part *> scales = parts.take(stored.scales, typesOf(ByteScale::E8M0), {n, k / 32});
  if (!scales)
    return scales.error();
  Result<std::span<const std::byte>> bytes =
      byteScales(parts, **scales, ByteScale::E8M0,
                 [&](int64_t g) { return areZeroE4M3((*codes)->data, g * 32, 32); });
  if (!bytes)
    return bytes.error();
  Tensor tensor{name + ".weight", WeightFormat::BF16, {n, k}, {}};
  tensor.maker = std::make_shared<MadeOfMxfp8>(k, 32, (*codes)->data, *bytes);
  return parts.put(std::move(tensor));
}

} // namespace ingot::import
