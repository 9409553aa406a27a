//===- Awq.cpp - Checkpoints of AutoAWQ, the gemm version ------------------===//
//
//   X.qweight  I32 [K, N / 8]      eight codes of a row of K per word, with columns permuted
//   X.qzeros   I32 [K / g, N / 8]  the same
//   X.scales   F16 [K / g, N]
//
// w[n][k] = scales[k / g][n] * (q - z). A word holds eight columns. Its nibbles, the lowest first, belong to columns 0,
// 2, 4, 6, 1, 3, 5, 7 of these (AutoAWQ, awq/modules/linear/gemm.py).
//===----------------------------------------------------------------------===//
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/methods/ExporterKeys.h"
#include "compiler/import/methods/Quantized.h"
#include "compiler/import/parts/GroupedInts.h"

#include <algorithm>

namespace ingot::import {

namespace {

/// The nibble that holds column i of eight. This is the inverse of the order 0, 2, 4, 6, 1, 3, 5, 7.
constexpr int kNibble[8] = {0, 4, 1, 5, 2, 6, 3, 7};

int codeOf(const Part &words, int64_t row, int64_t column, int64_t n) {
  return static_cast<int>(words.word(row * (n / 8) + column / 8) >> (4 * kNibble[column % 8]) & 15);
}

Result<GroupedInts> readMatrix(RawTensors &parts, const std::string &name, int64_t group) {
  Result<const Part *> codes = parts.take(name + ".qweight", "I32 U32", {-1, -1});
  if (!codes)
    return codes.error();
  const int64_t k = (*codes)->shape[0], n = (*codes)->shape[1] * 8;
  group = group < 0 ? k : std::min(k, group);
  const int64_t groups = (k + group - 1) / group;
  Result<const Part *> zeros = parts.take(name + ".qzeros", "I32 U32", {groups, n / 8});
  if (!zeros)
    return zeros.error();
  Result<const Part *> scales = parts.take(name + ".scales", kScaleTypes, {groups, n});
  if (!scales)
    return scales.error();
  GroupedInts ints{name + ".weight", n, k, 4, group, {}, {}};
  ints.codes = [codes = **codes, n, k](int64_t first, int64_t count, uint8_t *q, int64_t stride) {
    for (int64_t i = 0; i < k; ++i)
      for (int64_t row = 0; row < count; ++row)
        q[row * stride + i] = static_cast<uint8_t>(codeOf(codes, i, first + row, n));
  };
  ints.scale = [scales = **scales, n](int64_t row, int64_t g) {
    return scales.number(g * n + row);
  };
  ints.zero = [zeros = **zeros, n](int64_t row, int64_t g) { return codeOf(zeros, g, row, n); };
  return ints;
}

} // namespace

Result<void> readAwq(CheckpointBuilder &builder, const QuantConfig &config) {
  for (auto fine :
       {config.oneOf("version", {"gemm", "GEMM"}), config.oneOf("format", {"gemm", "GEMM"}),
        config.oneOf("checkpoint_format", {"gemm", "GEMM"}), config.exactly("bits", int64_t(4)),
        config.exactly("w_bit", int64_t(4)), config.oneOf("pack_dtype", {"int32", "torch.int32"}),
        config.oneOf("data_type", {"int", "int_sym", "int_asym"})})
    if (!fine)
      return fine;
  markExporterKeys(config);
  config.harmless({"sym"});
  const Result<int64_t> old = config.integerOr("q_group_size", 128);
  if (!old)
    return old.error();
  const Result<int64_t> group = config.integerOr("group_size", *old);
  if (!group)
    return group.error();
  if (*group < -1 || *group == 0)
    return config.unsupported("group_size", line(*group), "-1, or a multiple of 32");
  builder.setLayerFormat(formatOfGroups(4, *group, true));
  RawTensors parts(builder);
  for (const char *object : {"dynamic", "extra_config"})
    if (auto known = config.ownSettings(
            object, {},
            "use a checkpoint whose layers have one width, or the original one with "
            "--quantize and a --recipe");
        !known)
      return known;
  std::vector<GroupedInts> matrices;
  for (const std::string &name : parts.endingWith(".qweight")) {
    Result<GroupedInts> read = readMatrix(parts, name, *group);
    if (!read)
      return read.error();
    matrices.push_back(std::move(*read));
  }
  if (auto added = addGroupedInts(builder, parts, std::move(matrices)); !added)
    return added;
  parts.finish();
  return {};
}

} // namespace ingot::import
