//===- Mxfp4.cpp - Checkpoints of gpt-oss ----------------------------------===//
//
//   X_blocks  U8 [E, N, K / 32, 16]  two codes per byte; the even one is in the low nibble
//   X_scales  U8 [E, N, K / 32]      2^(s - 127)
//
// become X: a stack of E matrices [N][K] (OCP Microscaling Formats 1.0; transformers, integrations/mxfp4.py).
//===----------------------------------------------------------------------===//
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/methods/Quantized.h"
#include "compiler/import/parts/ByteScales.h"
#include "compiler/import/parts/GroupMaker.h"
#include "runtime/formats/E8M0.h"

namespace ingot::import {

namespace {

/// Makes the blocks of Codes.h: the exponent, and then bytes with value j in the low nibble and value j + 16 in the
/// high nibble.
class MadeOfMxfp4 : public GroupMaker {
public:
  using GroupMaker::GroupMaker;

protected:
  std::byte *makeRow(int64_t row, std::byte *out) const override {
    for (int64_t g = 0; g < groupsOfRow(); ++g) {
      *out++ = static_cast<std::byte>(scaleOf(row, g));
      const std::byte *from = codesOf(row, g, 4);
      for (size_t j = 0; j < 16; ++j) {
        const auto code = [&](size_t k) { return from[k / 2] >> (4 * (k % 2)) & std::byte(15); };
        *out++ = code(j) | code(j + 16) << 4;
      }
    }
    return out;
  }
  int64_t notFiniteIn(int64_t row, int64_t g) const override {
    return isE8M0NaN(scaleOf(row, g)) ? 0 : -1;
  }
};

/// Adds a matrix or a stack of matrices. `blocks` has half as many bytes as `shape` has elements. `scales` has one byte
/// per 32 elements.
Result<void> addBlocks(RawTensors &parts, std::string name, std::vector<int64_t> shape,
                       const Part &blocks, const Part &scales) {
  if (auto whole = expectWholeGroups(name, shape.back(), 32); !whole)
    return whole;
  Result<std::span<const std::byte>> bytes =
      byteScales(parts, scales, ByteScale::E8M0,
                 [&](int64_t g) { return areZeroE2M1(blocks.data, g * 32, 32); });
  if (!bytes)
    return bytes.error();
  auto maker = std::make_shared<MadeOfMxfp4>(shape.back(), 32, blocks.data, *bytes);
  Tensor tensor{std::move(name), WeightFormat::Mxfp4, std::move(shape), {}};
  tensor.maker = std::move(maker);
  return parts.put(std::move(tensor));
}

} // namespace

Result<void> addMxfp4(RawTensors &parts, const std::string &name, const CodesAndScales &stored,
                      std::string_view types) {
  Result<const Part *> codes = parts.take(stored.codes, types, {-1, -1});
  if (!codes)
    return codes.error();
  const int64_t n = (*codes)->shape[0], k = (*codes)->shape[1] * ((*codes)->dtype == "U8" ? 2 : 8);
  Result<const Part *> scales =
      parts.take(stored.scales, typesOf(ByteScale::E8M0), {n, (k + 31) / 32});
  if (!scales)
    return scales.error();
  return addBlocks(parts, name + ".weight", {n, k}, **codes, **scales);
}

Result<void> readMxfp4(CheckpointBuilder &builder, const QuantConfig &config) {
  config.harmless({"quant_method", "modules_to_not_convert", "dequantize"});
  builder.setLayerFormat(WeightFormat::Mxfp4);
  RawTensors parts(builder);
  for (const std::string &name : parts.endingWith("_blocks")) {
    Result<const Part *> blocks = parts.take(name + "_blocks", "U8", {-1, -1, -1, 16});
    if (!blocks)
      return blocks.error();
    const std::vector<int64_t> &shape = (*blocks)->shape;
    Result<const Part *> scales =
        parts.take(name + "_scales", typesOf(ByteScale::E8M0), {shape[0], shape[1], shape[2]});
    if (!scales)
      return scales.error();
    if (auto added =
            addBlocks(parts, name, {shape[0], shape[1], shape[2] * 32}, **blocks, **scales);
        !added)
      return added;
  }
  parts.finish();
  return {};
}

} // namespace ingot::import
