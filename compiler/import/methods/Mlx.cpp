//===- Mlx.cpp - Checkpoints of MLX ----------------------------------------===//
//
//   affine  X.weight  U32 [N, K b / 32]  codes of b bits in a stream, the lowest first, across words
//           X.scales  [N, K / g]
//           X.biases  [N, K / g]
//   mxfp4   X.weight  U32 [N, K / 8], X.scales U8 [N, K / 32]: 2^(s - 127)
//   mxfp8   X.weight  U32 [N, K / 4], X.scales U8 [N, K / 32]: four codes of E4M3 per word
//   nvfp4   X.weight  U32 [N, K / 8], X.scales U8 [N, K / 16]: E4M3
//
// w = scales * q + biases. The `quantization` object of config.json has the settings (bits, group_size, mode) for all
// matrices, and for individual matrices by name. Tensors have the names and values that mlx-lm's model has. For
// Qwen3-Next and similar models, mlx-lm adds 1 to norm weights and transposes convolutions, and the families of these
// models must handle this. (mlx: mlx/backend/common/quantized.cpp, docs of mlx.core.quantize; mlx-lm: utils.py.)
//===----------------------------------------------------------------------===//
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/methods/Quantized.h"
#include "compiler/import/parts/GroupedInts.h"

namespace ingot::import {

namespace {

struct Settings {
  int64_t bits, group;
  std::string mode;
};

/// Returns the settings of a module. Missing settings are taken from `otherwise`, the settings of all modules.
Result<Settings> settingsOf(const QuantConfig &config, const std::string &module,
                            const Settings &otherwise) {
  const std::string scope = module.empty() ? "" : module + ".";
  const Result<int64_t> bits = config.integerOr(scope + "bits", otherwise.bits),
                        group = config.integerOr(scope + "group_size", otherwise.group);
  if (!bits || !group)
    return bits ? group.error() : bits.error();
  if (auto known = config.oneOf(scope + "mode", {"affine", "mxfp4", "mxfp8", "nvfp4"}); !known)
    return known.error();
  const std::string *given = config.text(scope + "mode");
  const std::string mode = given ? *given : otherwise.mode;
  if (*bits < 2 || *bits > 8 || *bits == 7)
    return config.unsupported(scope + "bits", line(*bits), "2, 3, 4, 5, 6, 8");
  if (mode != "nvfp4" && (*group < 32 || *group % 32 != 0))
    return config.unsupported(scope + "group_size", line(*group), "32, 64, 128");
  return Settings{*bits, *group, mode};
}

/// Reads `columns` codes of a row from a stream of words.
void readStream(const Part &words, int64_t first, int64_t columns, int bits, uint8_t *q) {
  const uint32_t mask = (1u << bits) - 1;
  uint64_t waiting = 0;
  int count = 0; // number of bits in `waiting`
  for (int64_t k = 0; k < columns; ++k) {
    if (count < bits) {
      waiting |= static_cast<uint64_t>(words.word(first++)) << count;
      count += 32;
    }
    q[k] = static_cast<uint8_t>(waiting & mask);
    waiting >>= bits, count -= bits;
  }
}

Result<GroupedInts> readAffine(RawTensors &parts, const std::string &name,
                               const Settings &settings) {
  Result<const Part *> codes = parts.take(name + ".weight", "U32", {-1, -1});
  if (!codes)
    return codes.error();
  const int64_t n = (*codes)->shape[0], words = (*codes)->shape[1], k = words * 32 / settings.bits;
  if (words * 32 % settings.bits != 0 || k % settings.group != 0)
    return refuse(cause::quantPart, line("the weight ", inQuotes(name), " has the wrong width"),
                  line("rows of ", words, " words cannot hold groups of ", settings.group,
                       " codes of ", settings.bits, " bits"),
                  "take configuration and tensors from the same checkpoint");
  const int64_t groups = k / settings.group;
  Result<const Part *> scales = parts.take(name + ".scales", kScaleTypes, {n, groups});
  if (!scales)
    return scales.error();
  Result<const Part *> biases = parts.take(name + ".biases", kScaleTypes, {n, groups});
  if (!biases)
    return biases.error();
  const int bits = static_cast<int>(settings.bits);
  GroupedInts ints{name + ".weight", n, k, bits, settings.group, {}, {}};
  ints.codes = [codes = **codes, words, k, bits](int64_t first, int64_t count, uint8_t *q,
                                                 int64_t stride) {
    for (int64_t row = 0; row < count; ++row)
      readStream(codes, (first + row) * words, k, bits, q + row * stride);
  };
  ints.scale = [scales = **scales, groups](int64_t row, int64_t g) {
    return scales.number(row * groups + g);
  };
  ints.minimum = [biases = **biases, groups](int64_t row, int64_t g) {
    return biases.number(row * groups + g);
  };
  return ints;
}

/// Adds a matrix of mxfp4, mxfp8 or nvfp4. Each byte of a word holds two 4-bit codes, the first in the low nibble.
Result<void> readFloats(RawTensors &parts, const std::string &name, const std::string &mode) {
  if (mode == "nvfp4")
    return addNvfp4(parts, name, {name + ".weight", name + ".scales"}, 1.0f);
  if (mode == "mxfp8")
    return addMxfp8(parts, name, {name + ".weight", name + ".scales"});
  return addMxfp4(parts, name, {name + ".weight", name + ".scales"}, "U32");
}

} // namespace

Result<void> readMlx(CheckpointBuilder &builder, const QuantConfig &config) {
  Result<Settings> all = settingsOf(config, "", {4, 64, "affine"});
  if (!all)
    return all.error();
  builder.setLayerFormat(all->mode == "mxfp4"   ? WeightFormat::Mxfp4
                         : all->mode == "mxfp8" ? WeightFormat::BF16
                         : all->mode == "nvfp4" ? WeightFormat::Nvfp4
                         : all->bits > 4        ? WeightFormat::Int8MG32
                         : all->group == 32     ? WeightFormat::Int4MG32
                                                : WeightFormat::Int4MG64);
  RawTensors parts(builder);
  std::vector<GroupedInts> matrices;
  for (const std::string &name : parts.endingWith(".scales")) {
    Result<Settings> own = settingsOf(config, name, *all);
    if (!own)
      return own.error();
    if (own->mode != "affine") {
      if (auto read = readFloats(parts, name, own->mode); !read)
        return read;
      continue;
    }
    Result<GroupedInts> read = readAffine(parts, name, *own);
    if (!read)
      return read.error();
    matrices.push_back(std::move(*read));
  }
  if (auto added = addGroupedInts(builder, parts, std::move(matrices)); !added)
    return added;
  config.harmless({"*"}); // settings of modules that are not quantised
  parts.finish();
  return {};
}

} // namespace ingot::import
