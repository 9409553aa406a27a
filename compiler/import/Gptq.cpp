//===- Gptq.cpp - Checkpoints of GPTQ, AutoGPTQ and GPTQModel --------------===//
//
//   X.qweight  I32 [K b / 32, N]    b bits of value k at bit k b of the column's words, the lowest first
//   X.qzeros   I32 [K / g, N b / 32] the same along N; of "gptq" (v1) one less than the zero point
//   X.scales   F16 [K / g, N]
//   X.g_idx    I32 [K]              the group of each k; k / g where it is missing
//
// w[n][k] = scales[g][n] * (q - z). Formats and names: AutoGPTQ (auto_gptq/nn_modules/qlinear), GPTQModel.
//
// In v1 a stored zero point of all ones is ambiguous: some kernels add one in b bits and get 0, others get 2^b. A
// symmetric checkpoint never holds it.
//===----------------------------------------------------------------------===//
#include "compiler/import/GroupedInts.h"
#include "compiler/import/ImportErrors.h"
#include "compiler/import/Quantized.h"

#include <algorithm>

namespace ingot::import {

namespace {

/// Code `i` of a stream of b bits, of which word w is at w * stride.
uint32_t codeOf(const Part &words, int64_t first, int64_t stride, int64_t i, int bits) {
  const int64_t bit = i * bits, word = bit / 32, in = bit % 32;
  uint64_t pair = words.word(first + word * stride);
  if (in + bits > 32)
    pair |= static_cast<uint64_t>(words.word(first + (word + 1) * stride)) << 32;
  return static_cast<uint32_t>(pair >> in) & ((1u << bits) - 1);
}

/// Codes of some columns of words, which are rows of the weight: words of one row after the other, since those of a
/// row lie next to each other.
void readColumns(const Part &words, int64_t n, int64_t k, int bits, int64_t first, int64_t count,
                 uint8_t *q, int64_t stride) {
  if (bits == 3) { // whose codes cross words
    for (int64_t i = 0; i < k; ++i)
      for (int64_t row = 0; row < count; ++row)
        q[row * stride + i] = static_cast<uint8_t>(codeOf(words, first + row, n, i, bits));
    return;
  }
  const int64_t inWord = 32 / bits;
  const uint32_t mask = (1u << bits) - 1;
  for (int64_t i = 0; i < k; i += inWord)
    for (int64_t row = 0; row < count; ++row) {
      const uint32_t word = words.word(i / inWord * n + first + row);
      for (int64_t j = 0; j < inWord; ++j)
        q[row * stride + i + j] = static_cast<uint8_t>(word >> (j * bits) & mask);
    }
}

struct Gptq {
  int bits;
  int64_t group; ///< -1: all K
  bool v1;
};

Result<GroupedInts> readMatrix(RawTensors &parts, const std::string &name, const Gptq &gptq) {
  Result<const Part *> codes = parts.take(name + ".qweight", "I32 U32", {-1, -1});
  if (!codes)
    return codes.error();
  const int64_t n = (*codes)->shape[1], k = (*codes)->shape[0] * 32 / gptq.bits,
                group = gptq.group < 0 ? k : std::min(k, gptq.group),
                groups = (k + group - 1) / group;
  if ((*codes)->shape[0] % (gptq.bits == 3 ? 3 : 1) != 0 || n * gptq.bits % 32 != 0)
    return refuse(
        cause::quantPart, line("tensor ", inQuotes(name + ".qweight"), " is no part of a weight"),
        line("it is ", printedShape((*codes)->shape), " words, for codes of ", gptq.bits, " bits"),
        "take configuration and tensors from the same checkpoint");
  Result<const Part *> zeros =
      parts.take(name + ".qzeros", "I32 U32", {groups, n * gptq.bits / 32});
  if (!zeros)
    return zeros.error();
  Result<const Part *> scales = parts.take(name + ".scales", "F16 BF16 F32", {groups, n});
  if (!scales)
    return scales.error();
  std::vector<int32_t> groupsOfColumns;
  if (parts.has(name + ".g_idx")) {
    Result<const Part *> part = parts.take(name + ".g_idx", "I32 I64", {k});
    if (!part)
      return part.error();
    Result<std::vector<int32_t>> order = readOrder(**part, group, groups);
    if (!order)
      return order.error();
    groupsOfColumns = std::move(*order);
  }
  const int64_t words = n * gptq.bits / 32;
  const int largest = (1 << gptq.bits) - 1;
  for (int64_t g = 0; gptq.v1 && g < groups; ++g)
    for (int64_t row = 0; row < n; ++row)
      if (codeOf(**zeros, g * words, 1, row, gptq.bits) == static_cast<uint32_t>(largest))
        return refuse(cause::quantValue, line("a zero point of ", inQuotes(name), " is ambiguous"),
                      line("group ", g, ", row ", row, " stores ", largest, ", which is ",
                           largest + 1, " or 0, depending on who reads it"),
                      "save the checkpoint again as gptq_v2 (GPTQModel), which stores it as it is");
  GroupedInts ints{name + ".weight", n, k, gptq.bits, group, {}, {}};
  ints.order = std::move(groupsOfColumns);
  ints.codes = [codes = **codes, n, k, bits = gptq.bits](int64_t first, int64_t count, uint8_t *q,
                                                         int64_t stride) {
    readColumns(codes, n, k, bits, first, count, q, stride);
  };
  ints.scale = [scales = **scales, n](int64_t row, int64_t g) {
    return scales.number(g * n + row);
  };
  ints.zero = [zeros = **zeros, words, gptq](int64_t row, int64_t g) {
    return static_cast<int>(codeOf(zeros, g * words, 1, row, gptq.bits)) + gptq.v1;
  };
  return ints;
}

/// AutoGPTQ gave every matrix a bias; where there is none it is zeros.
void dropEmptyBias(RawTensors &parts, const std::string &name) {
  const Part *bias = parts.find(name + ".bias");
  if (bias && std::ranges::all_of(bias->data, [](std::byte byte) { return byte == std::byte(0); }))
    parts.drop(bias->name);
}

} // namespace

Result<void> readGptq(CheckpointBuilder &builder, const QuantConfig &config) {
  config.harmless({"quant_method",
                   "desc_act",
                   "static_groups",
                   "sym",
                   "lm_head",
                   "damp_percent",
                   "damp_auto_increment",
                   "true_sequential",
                   "model_name_or_path",
                   "model_file_base_name",
                   "modules_in_block_to_quantize*",
                   "dataset*",
                   "tokenizer",
                   "use_cuda_fp16",
                   "use_exllama",
                   "disable_exllama",
                   "exllama_config*",
                   "backend",
                   "block_name_to_quantize",
                   "max_input_length",
                   "cache_block_outputs",
                   "batch_size",
                   "pad_token_id",
                   "module_name_preceding_first_block*",
                   "model_seqlen",
                   "meta.*",
                   "hyb_act",
                   "mse",
                   "pack_dtype",
                   "parallel_packing",
                   "offload_to_disk*",
                   "is_marlin_format",
                   "format",
                   "act_group_aware",
                   "uri",
                   "version"});
  if (auto fine = config.absent("dynamic", "use a checkpoint whose layers have one width, or the "
                                           "original one with --quantize and a --recipe");
      !fine)
    return fine;
  if (auto fine = config.oneOf("checkpoint_format", {"gptq", "gptq_v2"}); !fine)
    return fine;
  const Result<int64_t> bits = config.integerOr("bits", 4),
                        group = config.integerOr("group_size", -1);
  const Result<bool> symmetric = config.booleanOr("sym", true);
  if (!bits || !group)
    return bits ? group.error() : bits.error();
  if (*bits != 2 && *bits != 3 && *bits != 4 && *bits != 8)
    return config.unsupported("bits", line(*bits), "2, 3, 4, 8");
  if (*group < -1 || *group == 0)
    return config.unsupported("group_size", line(*group), "-1, or a multiple of 32");
  const std::string *format = config.text("checkpoint_format");
  const Gptq gptq{static_cast<int>(*bits), *group, !format || *format != "gptq_v2"};
  builder.setLayerFormat(formatOfGroups(gptq.bits, gptq.group, symmetric && !*symmetric));
  RawTensors parts(builder);
  std::vector<GroupedInts> matrices;
  for (const std::string &name : parts.endingWith(".qweight")) {
    Result<GroupedInts> read = readMatrix(parts, name, gptq);
    if (!read)
      return read.error();
    matrices.push_back(std::move(*read));
    dropEmptyBias(parts, name);
  }
  if (auto added = addGroupedInts(builder, parts, std::move(matrices)); !added)
    return added;
  parts.finish();
  return {};
}

} // namespace ingot::import
