//===- BitsAndBytes.cpp - Checkpoints of LLM.int8 --------------------------===//
//
//   X.weight         I8 [N, K]
//   X.SCB            F32 [N]     the largest magnitude of a row
//   X.weight_format  U8          "row", as a number
//
// w = weight * SCB / 127 (bitsandbytes, functional.py: int8_vectorwise_dequant). The scale SCB / 127 is rounded to f32
// once; bitsandbytes rounds the product twice: a value differs by no more than its last bit of f32.
//===----------------------------------------------------------------------===//
#include "compiler/import/GroupedInts.h"
#include "compiler/import/ImportErrors.h"
#include "compiler/import/Quantized.h"

namespace ingot::import {

namespace {

Result<GroupedInts> readInt8(RawTensors &parts, const std::string &name) {
  Result<const Part *> codes = parts.take(name + ".weight", "I8", {-1, -1});
  if (!codes)
    return codes.error();
  const int64_t n = (*codes)->shape[0], k = (*codes)->shape[1];
  Result<const Part *> largest = parts.take(name + ".SCB", "F32", {n});
  if (!largest)
    return largest.error();
  parts.drop(name + ".weight_format");
  GroupedInts ints{name + ".weight", n, k, 8, k, {}, {}};
  ints.codes = [codes = **codes, k](int64_t first, int64_t count, uint8_t *q, int64_t stride) {
    for (int64_t row = 0; row < count; ++row)
      for (int64_t i = 0; i < k; ++i)
        q[row * stride + i] = codes.byte((first + row) * k + i) ^ 0x80; // w + 128
  };
  ints.scale = [largest = **largest](int64_t row, int64_t) { return largest.number(row) / 127; };
  ints.zero = [](int64_t, int64_t) { return 128; };
  return ints;
}

} // namespace

Result<void> readBitsAndBytes(CheckpointBuilder &builder, const QuantConfig &config) {
  Result<bool> four = config.booleanOr("load_in_4bit", false);
  if (!four)
    return four.error();
  if (*four)
    return config.unsupported("load_in_4bit", "true (nf4 or fp4)", "load_in_8bit");
  config.harmless({"quant_method", "load_in_8bit", "_load_in_8bit", "_load_in_4bit", "llm_int8*",
                   "bnb_4bit*", "modules_to_not_convert"});
  builder.setLayerFormat(WeightFormat::Int8F);
  RawTensors parts(builder);
  std::vector<GroupedInts> matrices;
  for (const std::string &name : parts.endingWith(".SCB")) {
    Result<GroupedInts> read = readInt8(parts, name);
    if (!read)
      return read.error();
    matrices.push_back(std::move(*read));
  }
  if (auto added = addGroupedInts(builder, std::move(matrices)); !added)
    return added;
  parts.finish();
  return {};
}

} // namespace ingot::import
