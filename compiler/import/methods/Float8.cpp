//===- Float8.cpp - See Float8.h ------------------------------------------===//
#include "compiler/import/methods/Float8.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/methods/Quantized.h"
#include "compiler/import/parts/ByteScales.h"
#include "runtime/formats/E8M0.h"

#include <algorithm>
#include <optional>
#include <set>

namespace ingot::import {

namespace {

constexpr int64_t kBlock = 128;

int64_t blocksOf(int64_t extent) { return (extent + kBlock - 1) / kBlock; }

//===----------------------------------------------------------------------===//
// quantization_config
//===----------------------------------------------------------------------===//

/// The formats that matrices may have. The set is empty if the checkpoint is not fp8.
using Formats = std::set<WeightFormat>;

bool isPair(const std::vector<int64_t> &block) { return block == std::vector{kBlock, kBlock}; }

Result<Formats> readFp8(const QuantConfig &config) {
  config.harmless({"quant_method", "modules_to_not_convert", "ignored_layers", "dequantize",
                   "kv_cache_scheme*", "scale_fmt"});
  for (auto fine : {config.oneOf("activation_scheme", {"dynamic", "static"}),
                    config.oneOf("fmt", {"e4m3", "float8_e4m3fn"})})
    if (!fine)
      return fine.error();
  const bool blocks = config.has("weight_block_size");
  if (blocks && !isPair(config.integers("weight_block_size")))
    return config.unsupported("weight_block_size", "another value",
                              "[128, 128], or none (a scale per tensor)");
  return Formats{blocks ? WeightFormat::Fp8Block128 : WeightFormat::Fp8Tensor};
}

Result<Formats> readGroup(const QuantConfig &group) {
  group.harmless({"targets", "input_activations.*", "weights.observer*", "weights.scale_dtype",
                  "weights.zp_dtype"});
  for (auto fine :
       {group.oneOf("format", {"float-quantized", "naive-quantized"}),
        group.exactly("weights.num_bits", int64_t(8)), group.oneOf("weights.type", {"float"}),
        group.exactly("weights.symmetric", true), group.exactly("weights.dynamic", false),
        group.oneOf("weights.strategy", {"tensor", "channel", "block"})})
    if (!fine)
      return fine.error();
  const std::string *strategy = group.text("weights.strategy");
  if (!strategy)
    return Formats();
  if (*strategy == "block" && !isPair(group.integers("weights.block_structure")))
    return group.unsupported("weights.block_structure", "another value", "[128, 128]");
  group.harmless({"weights.block_structure"});
  return Formats{*strategy == "tensor"    ? WeightFormat::Fp8Tensor
                 : *strategy == "channel" ? WeightFormat::Fp8
                                          : WeightFormat::Fp8Block128};
}

/// Returns whether a group of compressed-tensors is fp8. CompressedTensors.cpp reads all other groups, including MXFP8
/// (floats in groups).
bool isFloat8(const QuantConfig &group) {
  const std::string *type = group.text("weights.type"), *strategy = group.text("weights.strategy");
  const MetaValue *bits = group.find("weights.num_bits");
  return (!type || *type == "float") && (!bits || *bits == MetaValue(int64_t(8))) &&
         (!strategy || *strategy != "group");
}

Result<Formats> readCompressedTensors(const QuantConfig &config) {
  const std::string *format = config.text("format");
  const bool mixed = format && *format == "mixed-precision";
  if (!mixed && (!format || (*format != "float-quantized" && *format != "naive-quantized")))
    return Formats();
  Formats formats;
  bool others = mixed;
  for (const std::string &member : config.members("config_groups")) {
    const QuantConfig group = config.in(member);
    if (!isFloat8(group) && *format != "float-quantized") {
      others = true;
      continue;
    }
    Result<Formats> found = readGroup(group);
    if (!found)
      return found;
    formats.merge(*found);
  }
  if (formats.empty() && !others)
    return config.unsupported("config_groups", "no group with a strategy of weights",
                              "tensor, channel, block");
  return formats;
}

Result<Formats> readModelOpt(const QuantConfig &config) {
  const std::string *algorithm = modelOptScope(config).text("quant_algo");
  if (!algorithm)
    return Formats();
  if (*algorithm == "FP8")
    return Formats{WeightFormat::Fp8Tensor};
  if (*algorithm == "FP8_PB_WO")
    return Formats{WeightFormat::Fp8Block128};
  if (*algorithm == "FP8_PER_CHANNEL_PER_TOKEN")
    return Formats{WeightFormat::Fp8};
  if (*algorithm == "MIXED_PRECISION")
    return Formats{WeightFormat::Fp8Tensor, WeightFormat::Fp8, WeightFormat::Fp8Block128};
  return Formats();
}

Result<Formats> formatsOf(const QuantConfig &config) {
  const std::string *method = config.text("quant_method");
  if (method && *method == "fp8")
    return readFp8(config);
  if (method && *method == "compressed-tensors")
    return readCompressedTensors(config);
  if (method && method->starts_with("modelopt"))
    return readModelOpt(config);
  return Formats();
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// Returns the shape of the scales of a matrix, or of a stack of matrices.
std::vector<int64_t> scalesOf(WeightFormat format, const std::vector<int64_t> &weight) {
  std::vector<int64_t> shape(weight.begin(), weight.end() - 2);
  const int64_t n = weight[weight.size() - 2], k = weight.back();
  if (format == WeightFormat::Fp8)
    shape.push_back(n);
  if (format == WeightFormat::Fp8Block128)
    shape.insert(shape.end(), {blocksOf(n), blocksOf(k)});
  return shape;
}

/// Returns whether the scales have the wanted shape. Writers may append extents of 1, and Model Optimizer adds an
/// extent of 1 after each extent of the block grid.
bool fits(const std::vector<int64_t> &found, std::vector<int64_t> wanted, WeightFormat format) {
  if (format == WeightFormat::Fp8Block128 && found.size() == wanted.size() + 2)
    wanted.insert(wanted.end() - 1, 1);
  wanted.resize(std::max(wanted.size(), found.size()), 1);
  return found == wanted;
}

/// The limits of scales. Kernels multiply scales by 2^8, and sums by scales, so the limits are far from the limits of
/// f32. No model has scales near these limits.
constexpr float kLeastScale = 0x1p-100f, kLargestScale = 0x1p+100f;

/// Returns whether all codes under scale `i` of `scales` are zero, of either sign.
bool areZeroUnder(const Tensor &tensor, size_t i, size_t scales) {
  const int64_t k = tensor.shape.back(), n = tensor.shape[tensor.shape.size() - 2],
                rows = tensor.elements() / k;
  const auto scale = static_cast<int64_t>(i);
  if (tensor.format != WeightFormat::Fp8Block128) { // every scale covers the same number of rows
    const int64_t each = rows / static_cast<int64_t>(scales);
    return areZeroE4M3(tensor.data, scale * each * k, each * k);
  }
  const int64_t across = blocksOf(k), down = blocksOf(n), block = scale % (across * down),
                first = scale / (across * down) * n + block / across * kBlock,
                last = std::min(first + kBlock, (scale / (across * down) + 1) * n),
                column = block % across * kBlock, width = std::min(kBlock, k - column);
  for (int64_t row = first; row < last; ++row)
    if (!areZeroE4M3(tensor.data, row * k + column, width))
      return false;
  return true;
}

/// Whether, according to the configuration, scales are powers of two that are stored as bytes.
bool saysPowers(const QuantConfig &config) {
  const std::string *format = config.text("scale_fmt");
  return format && *format == "ue8m0";
}

class Scales {
public:
  Scales(CheckpointBuilder &builder, const Formats &formats, bool powers)
      : builder(builder), formats(formats), types(kScaleTypes), parts(builder) {
    if (powers)
      types += " U8";
  }

  Result<void> attach() {
    for (Tensor &tensor : builder.tensors())
      if (numericFormat(tensor.format).isScaledFloat())
        if (auto done = attachTo(tensor); !done)
          return done;
    for (std::string_view ending :
         {".input_scale", ".activation_scale", ".k_scale", ".v_scale", ".q_scale", ".output_scale"})
      for (const std::string &name : parts.endingWith(ending))
        if (!formats.empty()) // activation and KV-cache scales are not used
          parts.drop(name + std::string(ending));
    for (std::string_view ending : {".weight_scale", ".weight_scale_inv"})
      for (const std::string &name : parts.endingWith(ending))
        if (const std::string full = name + std::string(ending);
            !formats.empty() && !taken.contains(full))
          return ofNothing(full, name + ".weight");
    parts.finish();
    return {};
  }

private:
  Result<void> attachTo(Tensor &tensor) {
    if (formats.empty())
      return refuse(
          cause::fp8ScaleMissing,
          line("tensor ", inQuotes(tensor.name), " is fp8, but its scaling is not specified"),
          "config.json has no supported quantization_config (fp8; compressed-tensors with "
          "float-quantized)",
          "use a checkpoint with its own config.json, or the original in BF16 with --quantize fp8");
    const Part *scales = nullptr;
    for (const char *ending : {"_scale_inv", "_scale"})
      if (const Part *found = parts.find(tensor.name + ending))
        scales = found;
    if (!scales)
      return refuse(cause::fp8ScaleMissing,
                    line("tensor ", inQuotes(tensor.name), " has no scales"),
                    line("it is fp8, and neither ", inQuotes(tensor.name + "_scale"),
                         " nor ..._scale_inv is among the ", parts.size(), " tensors"),
                    "use a checkpoint that has them, or the original in BF16 with --quantize fp8");
    if (tensor.shape.size() < 2 || tensor.shape.size() > 3)
      return refuse(
          cause::fp8ScaleShape,
          line("the fp8 tensor ", inQuotes(tensor.name), " has an unsupported shape"),
          line("expected 2 dimensions, or 3 for a stack; found ", printedShape(tensor.shape)),
          "use the original checkpoint in BF16, with --quantize fp8");
    if (!parts.take(scales->name, types))
      return refuse(cause::fp8ScaleShape,
                    line("the scales ", inQuotes(scales->name), " have an unsupported type"),
                    line("they are ", scales->dtype, ", ", printedShape(scales->shape),
                         "; supported: ", types),
                    "use another checkpoint, or the original in BF16 with --quantize fp8");
    std::optional<WeightFormat> format = formatOf(tensor, *scales);
    if (!format)
      return wrongShape(tensor, *scales);
    tensor.format = *format;
    taken.insert(scales->name);
    return read(tensor, *scales);
  }

  /// Returns the format in which scales have this shape.
  std::optional<WeightFormat> formatOf(const Tensor &tensor, const Part &scales) const {
    for (WeightFormat format : formats)
      if (fits(scales.shape, scalesOf(format, tensor.shape), format))
        return format;
    // A whole stack may have a single scale.
    if (formats.contains(WeightFormat::Fp8Tensor) && scales.elements() == 1)
      return WeightFormat::Fp8Tensor;
    return std::nullopt;
  }

  Error wrongShape(const Tensor &tensor, const Part &scales) const {
    std::string expected;
    for (WeightFormat format : formats) {
      const std::vector<int64_t> shape = scalesOf(format, tensor.shape);
      expected += line(expected.empty() ? "" : " or ", shape.empty() ? "1" : printedShape(shape));
    }
    return refuse(
        cause::fp8ScaleShape, line("the scales ", inQuotes(scales.name), " have the wrong shape"),
        line("found ", printedShape(scales.shape), "; a weight of ", printedShape(tensor.shape),
             " needs ", expected, ", according to config.json"),
        "take configuration and tensors from the same checkpoint");
  }

  Result<void> read(Tensor &tensor, const Part &scales) {
    const auto count = static_cast<size_t>(scales.elements());
    auto numbers = std::make_shared<std::vector<float>>(count);
    for (size_t i = 0; i < count; ++i) {
      const auto at = static_cast<int64_t>(i);
      float scale = scales.dtype == "U8" ? f32FromE8M0(scales.byte(at)) : scales.number(at);
      if (scale >= 0 && scale < kLeastScale && areZeroUnder(tensor, i, count))
        scale = 1; // 0 times any scale is 0
      if (!(scale >= kLeastScale && scale <= kLargestScale))
        return refuse(cause::fp8ScaleValue,
                      line("the scales ", inQuotes(scales.name), " contain an invalid scale"),
                      line("number ", i, " of ", count, " is ", scale,
                           ", but its codes are not all 0; allowed: 2^-100 to 2^100"),
                      "use another checkpoint, or the original in BF16 with --quantize fp8");
      (*numbers)[i] = scale;
    }
    tensor.scales = *numbers;
    builder.keep(std::move(numbers));
    return {};
  }

  /// Returns the error for scales without a matching weight.
  Error ofNothing(const std::string &scales, const std::string &weight) const {
    const Part *found = parts.find(weight);
    return refuse(cause::fp8ScaleMissing,
                  line("the scales ", inQuotes(scales), " do not belong to an fp8 weight"),
                  !found ? line(inQuotes(weight), " is not among the ", parts.size(), " tensors")
                  : found->dtype != "F8_E4M3"
                      ? line(inQuotes(weight), " has the type ",
                             found->dtype.empty() ? "another kind of weight" : found->dtype,
                             "; expected F8_E4M3")
                      : line(inQuotes(weight), " has two tensors of scales; expected 1"),
                  "use a checkpoint whose weights and scales belong together, or the original in "
                  "BF16 with --quantize fp8");
  }

  CheckpointBuilder &builder;
  const Formats &formats;
  std::string types; ///< types that scales may have
  RawTensors parts;
  std::set<std::string, std::less<>> taken;
};

} // namespace

Result<void> attachFloat8Scales(CheckpointBuilder &builder, const QuantConfig &config) {
  Result<Formats> formats = formatsOf(config);
  if (!formats)
    return formats.error();
  if (formats->size() == 1)
    builder.setLayerFormat(*formats->begin());
  return Scales(builder, *formats, saysPowers(config)).attach();
}

} // namespace ingot::import
