//===- Float8.cpp - See Float8.h ------------------------------------------===//
#include "compiler/import/Float8.h"
#include "compiler/import/Dequantize.h"
#include "compiler/import/ImportErrors.h"
#include "compiler/import/Quantized.h"

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

/// Formats that matrices may have; none: this is no fp8 checkpoint.
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
    return config.unsupported("weight_block_size", "something else",
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
    return group.unsupported("weights.block_structure", "something else", "[128, 128]");
  group.harmless({"weights.block_structure"});
  return Formats{*strategy == "tensor"    ? WeightFormat::Fp8Tensor
                 : *strategy == "channel" ? WeightFormat::Fp8
                                          : WeightFormat::Fp8Block128};
}

/// What else compressed-tensors can be is CompressedTensors.cpp's; so is MXFP8, floats in groups.
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

/// The shape of the scales of a matrix, or of a stack of them.
std::vector<int64_t> scalesOf(WeightFormat format, const std::vector<int64_t> &weight) {
  std::vector<int64_t> shape(weight.begin(), weight.end() - 2);
  const int64_t n = weight[weight.size() - 2], k = weight.back();
  if (format == WeightFormat::Fp8)
    shape.push_back(n);
  if (format == WeightFormat::Fp8Block128)
    shape.insert(shape.end(), {blocksOf(n), blocksOf(k)});
  return shape;
}

/// Writers add extents of 1 at the end; Model Optimizer one behind each of a block's.
bool fits(const std::vector<int64_t> &found, std::vector<int64_t> wanted, WeightFormat format) {
  if (format == WeightFormat::Fp8Block128 && found.size() == wanted.size() + 2)
    wanted.insert(wanted.end() - 1, 1);
  wanted.resize(std::max(wanted.size(), found.size()), 1);
  return found == wanted;
}

/// Kernels multiply a scale by 2^8 and a sum by a scale: the limits are far from f32's, and from
/// any model's.
bool isFineScale(float scale) { return scale >= 0x1p-100f && scale <= 0x1p+100f; }

class Scales {
public:
  Scales(CheckpointBuilder &builder, const Formats &formats) : builder(builder), formats(formats) {
    for (const Tensor &tensor : builder.tensors())
      byName.emplace(tensor.name, &tensor);
  }

  Result<void> attach() {
    for (Tensor &tensor : builder.tensors())
      if (numericFormat(tensor.format).isScaledFloat())
        if (auto done = attachTo(tensor); !done)
          return done;
    for (const auto &[name, tensor] : byName)
      if (auto harmless = passOver(name); !harmless)
        return harmless;
    std::erase_if(builder.tensors(),
                  [&](const Tensor &tensor) { return taken.contains(tensor.name); });
    return {};
  }

private:
  Result<void> attachTo(Tensor &tensor) {
    if (formats.empty())
      return refuse(
          cause::fp8ScaleMissing,
          line("tensor ", inQuotes(tensor.name), " is fp8, and nothing says how it is scaled"),
          "config.json has no quantization_config of a kind that is read (fp8; compressed-tensors "
          "with float-quantized)",
          "use a checkpoint with its own config.json, or the original in BF16 with --quantize fp8");
    const Tensor *scales = nullptr;
    for (const char *ending : {"_scale_inv", "_scale"})
      if (auto found = byName.find(tensor.name + ending); found != byName.end())
        scales = found->second;
    if (!scales)
      return refuse(cause::fp8ScaleMissing,
                    line("tensor ", inQuotes(tensor.name), " has no scales"),
                    line("it is fp8, and neither ", inQuotes(tensor.name + "_scale"),
                         " nor ..._scale_inv is among the ", byName.size(), " tensors"),
                    "download the checkpoint again, all its files");
    if (!numericFormat(scales->format).isFloat() || tensor.shape.size() < 2 ||
        tensor.shape.size() > 3)
      return refuse(
          cause::fp8ScaleShape, line("tensor ", inQuotes(tensor.name), " is fp8 in an odd way"),
          line("a matrix, or a stack, with scales of F32, BF16 or F16 is expected; it is ",
               printedShape(tensor.shape), " with scales of ", numericFormat(scales->format).name),
          "convert the checkpoint again");
    std::optional<WeightFormat> format = formatOf(tensor, *scales);
    if (!format)
      return wrongShape(tensor, *scales);
    tensor.format = *format;
    taken.insert(scales->name);
    return read(tensor, *scales);
  }

  /// The kind whose scales have this shape.
  std::optional<WeightFormat> formatOf(const Tensor &tensor, const Tensor &scales) const {
    for (WeightFormat format : formats)
      if (fits(scales.shape, scalesOf(format, tensor.shape), format))
        return format;
    // One for a whole stack.
    if (formats.contains(WeightFormat::Fp8Tensor) && scales.elements() == 1)
      return WeightFormat::Fp8Tensor;
    return std::nullopt;
  }

  Error wrongShape(const Tensor &tensor, const Tensor &scales) const {
    std::string expected;
    for (WeightFormat format : formats) {
      const std::vector<int64_t> shape = scalesOf(format, tensor.shape);
      expected += line(expected.empty() ? "" : " or ", shape.empty() ? "1" : printedShape(shape));
    }
    return refuse(cause::fp8ScaleShape,
                  line("the scales ", inQuotes(scales.name), " have the wrong shape"),
                  line("found ", printedShape(scales.shape), "; a weight of ",
                       printedShape(tensor.shape), " needs ", expected, ", as config.json says"),
                  "take configuration and tensors from the same checkpoint");
  }

  Result<void> read(Tensor &tensor, const Tensor &scales) {
    auto numbers = std::make_shared<std::vector<float>>(static_cast<size_t>(scales.elements()));
    if (auto done = dequantizeRow(scales.format, scales.data, *numbers); !done)
      return done;
    for (size_t i = 0; i < numbers->size(); ++i) {
      const float scale = (*numbers)[i];
      if (!isFineScale(scale))
        return refuse(cause::fp8ScaleValue,
                      line("the scales ", inQuotes(scales.name), " have a number that is no scale"),
                      line("number ", i, " of ", numbers->size(), " is ", scale,
                           "; scales are above 0, from 2^-100 to 2^100"),
                      "download or convert the checkpoint again: its scales are damaged");
    }
    tensor.scales = *numbers;
    builder.keep(std::move(numbers));
    return {};
  }

  /// Of an fp8 checkpoint: scales of activations and of a cache, which nobody here reads; scales of
  /// nothing.
  Result<void> passOver(const std::string &name) {
    if (formats.empty() || taken.contains(name))
      return {};
    for (std::string_view ending :
         {".input_scale", ".activation_scale", ".k_scale", ".v_scale", ".q_scale", ".output_scale"})
      if (name.ends_with(ending))
        taken.insert(name);
    if (name.ends_with(".weight_scale") || name.ends_with(".weight_scale_inv"))
      return refuse(cause::fp8ScaleMissing,
                    line("the scales ", inQuotes(name), " belong to no fp8 weight"),
                    line(inQuotes(name.substr(0, name.rfind("_scale"))),
                         " is missing, of another type, or has two tensors of scales"),
                    "download the checkpoint again, all its files");
    return {};
  }

  CheckpointBuilder &builder;
  const Formats &formats;
  std::map<std::string, const Tensor *, std::less<>> byName;
  std::set<std::string, std::less<>> taken;
};

} // namespace

Result<void> attachFloat8Scales(CheckpointBuilder &builder, const QuantConfig &config) {
  Result<Formats> formats = formatsOf(config);
  if (!formats)
    return formats.error();
  if (formats->size() == 1)
    builder.setLayerFormat(*formats->begin());
  return Scales(builder, *formats).attach();
}

} // namespace ingot::import
