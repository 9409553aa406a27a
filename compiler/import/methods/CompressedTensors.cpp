//===- CompressedTensors.cpp - compressed-tensors, except fp8 --------------===//
//
//   pack-quantized         X.weight_packed      I32 [N, ceil(K / c)]   c = 32 / b codes per word, the lowest first
//                          X.weight_scale       [N, K / g] or [N, 1]
//                          X.weight_zero_point  I32 [ceil(N / c), K / g], packed along N; if asymmetric
//                          X.weight_shape       [2]: N, K
//                          X.weight_g_idx       I32 [K]: the group of each k (actorder group)
//   int-quantized,         X.weight             I8 [N, K]
//   naive-quantized        X.weight_scale       [N, 1], [N, K / g], [1]
//                          X.weight_zero_point  I8, like the scale; if asymmetric
//   mxfp4-pack-quantized   X.weight_packed      U8 [N, K / 2], the low nibble first
//                          X.weight_scale       U8 or F8_E8M0 [N, K / 32]
//   nvfp4-pack-quantized   Nvfp4.h
//   mxfp8-quantized        X.weight             F8_E4M3 [N, K]
//                          X.weight_scale       U8 or F8_E8M0 [N, K / 32]
//   mixed-precision        each matrix uses one of these
//
// w = scale * (q - zero). Packed codes and zero points are stored with 2^(b - 1) added. The tensors show which format a
// matrix has, and the configuration states its bits and the size of its groups. Settings for activations are not
// needed, because only weights are read. Float8.h reads the formats with floats. (Source: compressed-tensors,
// compressors/ and quantization/.)
//===----------------------------------------------------------------------===//
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/methods/Quantized.h"
#include "compiler/import/parts/ByteScales.h"
#include "compiler/import/parts/GroupedInts.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ingot::import {

namespace {

/// The settings of a group of the configuration for integer matrices.
struct Scheme {
  int bits;
  bool perTensor; ///< a single scale
  int64_t group;  ///< values of a row per scale; -1: all of them

  int64_t groupOf(int64_t k) const { return group < 0 ? k : std::min(group, k); }
  int64_t columns(int64_t k) const { return (k + groupOf(k) - 1) / groupOf(k); }
  bool operator==(const Scheme &) const = default;
};
using Schemes = std::vector<Scheme>;

/// The scales of a matrix, indexed by row and group.
struct Scales {
  Part part;
  int64_t rows, columns, group;
  int64_t place(int64_t row, int64_t group) const {
    return (rows == 1 ? 0 : row) * columns + group;
  }
  float at(int64_t row, int64_t group) const { return part.number(place(row, group)); }
};

/// Returns the possible shapes of the scales, for a message: "12x2 (groups of 128) or 12x1".
std::string shapesOf(const Schemes &schemes, int64_t n, int64_t k) {
  std::string text;
  for (const Scheme &scheme : schemes) {
    text += text.empty() ? "" : " or ";
    text += scheme.perTensor ? std::string("1") : line(n, "x", scheme.columns(k));
    if (scheme.group > 0)
      text += line(" (groups of ", scheme.group, ")");
  }
  return text.empty() ? "a group of integers of its width" : text;
}

/// Takes the scales, and finds which of the configuration's schemes fits their shape.
Result<Scales> takeScales(RawTensors &parts, const std::string &name, const Schemes &schemes,
                          int64_t n, int64_t k) {
  Result<const Part *> part = parts.take(name + ".weight_scale", kScaleTypes);
  if (!part)
    return part.error();
  const std::vector<int64_t> &shape = (*part)->shape;
  const int64_t rows = shape[0], columns = shape.size() == 2 ? shape[1] : 1;
  std::optional<Scales> found;
  bool several = false;
  for (const Scheme &scheme : schemes) {
    if (shape.size() > 2 || columns != (scheme.perTensor ? 1 : scheme.columns(k)) ||
        rows != (scheme.perTensor ? 1 : n))
      continue;
    const Scales fits{**part, rows, columns, scheme.perTensor ? k : scheme.groupOf(k)};
    several |= found && found->group != fits.group;
    found = fits;
  }
  if (!found || several)
    return refuse(
        cause::quantPart,
        line("the scales ", inQuotes((*part)->name),
             several ? " match several groups of the configuration" : " have the wrong shape"),
        line("found ", printedShape(shape), "; a weight of ", n, "x", k, " needs ",
             shapesOf(schemes, n, k), ", according to quantization_config.config_groups"),
        several ? "use a checkpoint whose groups have one size, or the original one with "
                  "--quantize int4-g64"
                : "take configuration and tensors from the same checkpoint");
  return *found;
}

Result<GroupedInts> readPacked(RawTensors &parts, const std::string &name, Schemes schemes) {
  Result<const Part *> codes = parts.take(name + ".weight_packed", "I32 U32", {-1, -1});
  if (!codes)
    return codes.error();
  Result<const Part *> shape = parts.take(name + ".weight_shape", "I64 I32", {2});
  if (!shape)
    return shape.error();
  const int64_t n = (*shape)->integer(0), k = (*shape)->integer(1), words = (*codes)->shape[1];
  // If the configuration has several widths, use the width that results in this number of words.
  int bits = schemes.front().bits;
  for (const Scheme &each : schemes)
    if (const int64_t inEach = 32 / each.bits; k > (words - 1) * inEach && k <= words * inEach)
      bits = each.bits;
  const int64_t inWord = 32 / bits;
  if (n != (*codes)->shape[0] || k < 1 || k > words * inWord || k <= (words - 1) * inWord)
    return refuse(cause::quantPart,
                  line("the weight ", inQuotes(name), " has contradictory shapes"),
                  line("weight_shape is ", n, "x", k, ", its codes are ",
                       printedShape((*codes)->shape), " words of ", inWord),
                  "take all tensors from the same checkpoint");
  std::erase_if(schemes, [&](const Scheme &each) { return each.bits != bits; });
  Result<Scales> scales = takeScales(parts, name, schemes, n, k);
  if (!scales)
    return scales.error();
  const int64_t columns = scales->columns;
  std::optional<Part> zeros;
  if (parts.has(name + ".weight_zero_point")) {
    Result<const Part *> found =
        parts.take(name + ".weight_zero_point", "I32 U32", {(n + inWord - 1) / inWord, columns});
    if (!found)
      return found.error();
    zeros = **found;
  }
  std::vector<int32_t> groupsOfColumns;
  if (parts.has(name + ".weight_g_idx")) {
    Result<const Part *> part = parts.take(name + ".weight_g_idx", "I32 I64", {k});
    if (!part)
      return part.error();
    Result<std::vector<int32_t>> order = readOrder(**part, scales->group, columns);
    if (!order)
      return order.error();
    groupsOfColumns = std::move(*order);
  }
  const uint32_t mask = (1u << bits) - 1;
  GroupedInts ints{name + ".weight", n, k, bits, scales->group, {}, {}};
  ints.order = std::move(groupsOfColumns);
  ints.codes = [codes = **codes, k, words, inWord, bits, mask](int64_t first, int64_t count,
                                                               uint8_t *q, int64_t stride) {
    for (int64_t row = 0; row < count; ++row, q += stride)
      for (int64_t i = 0; i < k; i += inWord) {
        const uint32_t word = codes.word((first + row) * words + i / inWord);
        for (int64_t j = 0; j < std::min(inWord, k - i); ++j)
          q[i + j] = static_cast<uint8_t>(word >> (j * bits) & mask);
      }
  };
  ints.scale = [scales = *scales](int64_t row, int64_t g) { return scales.at(row, g); };
  ints.zero = [zeros, columns, inWord, bits, mask](int64_t row, int64_t g) {
    return zeros ? static_cast<int>(
                       zeros->word(row / inWord * columns + g) >> (row % inWord * bits) & mask)
                 : 1 << (bits - 1);
  };
  return ints;
}

/// Returns whether the codes of a matrix are bytes. The scales alone do not show this, since they may belong to an fp8
/// matrix.
bool hasBytes(const RawTensors &parts, const std::string &name) {
  const Part *stored = parts.find(name + ".weight");
  return stored && stored->dtype == "I8" && stored->shape.size() == 2;
}

Result<GroupedInts> readBytes(RawTensors &parts, const std::string &name, Schemes schemes) {
  Result<const Part *> codes = parts.take(name + ".weight", "I8");
  if (!codes)
    return codes.error();
  const int64_t n = (*codes)->shape[0], k = (*codes)->shape[1];
  std::erase_if(schemes, [](const Scheme &each) { return each.bits != 8; });
  Result<Scales> scales = takeScales(parts, name, schemes, n, k);
  if (!scales)
    return scales.error();
  std::optional<Part> zeros;
  if (parts.has(name + ".weight_zero_point")) {
    Result<const Part *> found = parts.take(name + ".weight_zero_point", "I8", scales->part.shape);
    if (!found)
      return found.error();
    zeros = **found;
  }
  GroupedInts ints{name + ".weight", n, k, 8, scales->group, {}, {}};
  ints.codes = [codes = **codes, k](int64_t first, int64_t count, uint8_t *q, int64_t stride) {
    for (int64_t row = 0; row < count; ++row)
      for (int64_t i = 0; i < k; ++i)
        q[row * stride + i] = codes.byte((first + row) * k + i) ^ 0x80; // w + 128
  };
  ints.scale = [scales = *scales](int64_t row, int64_t g) { return scales.at(row, g); };
  ints.zero = [zeros, scales = *scales](int64_t row, int64_t g) {
    return 128 + (zeros ? static_cast<int>(zeros->integer(scales.place(row, g))) : 0);
  };
  return ints;
}

Result<void> readFloats(RawTensors &parts, const std::string &name) {
  const std::string stored = name + ".weight_packed";
  if (parts.has(name + ".weight_global_scale")) {
    Result<const Part *> divisor = parts.take(name + ".weight_global_scale", kScaleTypes, {1});
    if (!divisor)
      return divisor.error();
    const float by = (*divisor)->number(0);
    const bool fine = std::abs(by) >= 0x1p-100f && std::abs(by) <= 0x1p+100f;
    // For a matrix of zeros, the exporter divides by the matrix's largest magnitude, 0.
    const Part *codes = parts.find(stored);
    if (!fine && (std::isnan(by) ||
                  !areZeroE2M1(codes->data, 0, 2 * static_cast<int64_t>(codes->data.size()))))
      return refuse(cause::quantValue, line("the scale of ", inQuotes(name), " is out of range"),
                    line("weight_global_scale is ", by,
                         "; allowed: 2^-100 to 2^100, or any value if all codes are 0"),
                    "use the original checkpoint, with --quantize int4-g32 or fp8");
    return addNvfp4(parts, name, {stored, name + ".weight_scale"}, fine ? 1 / by : 0);
  }
  return addMxfp4(parts, name, {stored, name + ".weight_scale"}, "U8");
}

Result<Scheme> readScheme(const QuantConfig &group) {
  group.harmless({"targets*", "input_activations*", "output_activations*", "format",
                  "weights.observer*", "weights.symmetric", "weights.block_structure",
                  "weights.scale_dtype", "weights.zp_dtype"});
  for (auto fine : {group.oneOf("weights.type", {"int"}), group.exactly("weights.dynamic", false),
                    group.oneOf("weights.strategy", {"tensor", "channel", "group"}),
                    group.oneOf("weights.actorder", {"weight", "static", "group", "dynamic"})})
    if (!fine)
      return fine.error();
  const Result<int64_t> bits = group.integerOr("weights.num_bits", 8),
                        size = group.integerOr("weights.group_size", 0); // 0: not specified
  if (!bits || !size)
    return bits ? size.error() : bits.error();
  if (*bits != 4 && *bits != 8)
    return group.unsupported("weights.num_bits", line(*bits), "4, 8");
  const std::string *given = group.text("weights.strategy");
  const std::string strategy = given       ? *given
                               : *size > 0 ? "group"
                               : *size < 0 ? "channel"
                                           : "tensor"; // the default of compressed-tensors
  if (strategy == "group" && *size < 1)
    return group.unsupported("weights.group_size", line(*size), "a number of values, at least 1");
  return Scheme{static_cast<int>(*bits), strategy == "tensor", strategy == "group" ? *size : -1};
}

/// Reads the schemes of all integer groups. Groups of floats need no scheme: the tensors show which floats have 4 bits,
/// or 8 bits with a scale per 32 values. Float8.h reads all other floats.
Result<Schemes> readSchemes(const QuantConfig &config) {
  Schemes schemes;
  for (const std::string &member : config.members("config_groups")) {
    const QuantConfig group = config.in(member);
    if (const std::string *type = group.text("weights.type"); type && *type == "float") {
      const MetaValue *bits = group.find("weights.num_bits");
      const std::string *strategy = group.text("weights.strategy");
      if ((bits && *bits == MetaValue(int64_t(4))) || (strategy && *strategy == "group"))
        group.harmless({"*"});
      group.harmless({"output_activations*"});
      continue;
    }
    Result<Scheme> scheme = readScheme(group);
    if (!scheme)
      return scheme.error();
    if (std::ranges::find(schemes, *scheme) == schemes.end())
      schemes.push_back(*scheme);
  }
  return schemes;
}

WeightFormat layerFormatOf(const QuantConfig &config, const std::string &format,
                           const Schemes &schemes) {
  if (format == "mxfp4-pack-quantized")
    return WeightFormat::Mxfp4;
  if (schemes.empty())
    return WeightFormat::Nvfp4;
  const QuantConfig group = config.in(config.members("config_groups").front());
  const Result<bool> symmetric = group.booleanOr("weights.symmetric", true);
  return formatOfGroups(schemes.front().bits, schemes.front().group, symmetric && !*symmetric);
}

} // namespace

Result<void> readCompressedTensors(CheckpointBuilder &builder, const QuantConfig &config) {
  for (auto plain :
       {config.absent("transform_config", "use a checkpoint without transforms (no Hadamard "
                                          "rotations), or the original one with --quantize"),
        config.oneOf("sparsity_config.format", {"dense"})})
    if (!plain)
      return plain;
  config.harmless({"sparsity_config*", "quant_method", "quantization_status", "ignore*",
                   "kv_cache_scheme*", "global_compression_ratio", "version",
                   "packed_modules_mapping*"});
  const std::string *format = config.text("format");
  if (!format)
    return config.unsupported("format", "none", "its name");
  if (auto known =
          config.oneOf("format", {"pack-quantized", "int-quantized", "naive-quantized",
                                  "float-quantized", "mxfp4-pack-quantized", "nvfp4-pack-quantized",
                                  "mxfp8-quantized", "mixed-precision"});
      !known)
    return known;
  Result<Schemes> schemes = readSchemes(config);
  if (!schemes)
    return schemes.error();
  if (config.members("config_groups").empty())
    return config.unsupported("config_groups", "no group", "a group with weights");
  if (!schemes->empty() || format->ends_with("4-pack-quantized"))
    builder.setLayerFormat(layerFormatOf(config, *format, *schemes));
  RawTensors parts(builder);
  std::vector<GroupedInts> matrices;
  for (const std::string &name : parts.endingWith(".weight_packed")) {
    if (parts.find(name + ".weight_packed")->dtype == "U8" || schemes->empty()) {
      if (auto read = readFloats(parts, name); !read)
        return read;
      continue;
    }
    Result<GroupedInts> read = readPacked(parts, name, *schemes);
    if (!read)
      return read.error();
    matrices.push_back(std::move(*read));
  }
  for (const std::string &name : parts.endingWith(".weight_scale")) {
    if (isMxfp8(parts, name, *format == "mxfp8-quantized"))
      if (auto read = addMxfp8(parts, name, {name + ".weight", name + ".weight_scale"}); !read)
        return read;
    if (!hasBytes(parts, name))
      continue;
    Result<GroupedInts> read = readBytes(parts, name, *schemes);
    if (!read)
      return read.error();
    matrices.push_back(std::move(*read));
  }
  if (auto added = addGroupedInts(builder, parts, std::move(matrices)); !added)
    return added;
  for (std::string_view ending : {".input_scale", ".input_global_scale", ".input_zero_point",
                                  ".k_scale", ".v_scale", ".q_scale", ".output_scale"})
    for (const std::string &name : parts.endingWith(ending))
      parts.drop(name + std::string(ending));
  parts.finish();
  return {};
}

} // namespace ingot::import
