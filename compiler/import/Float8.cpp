//===- Float8.cpp - See Float8.h ------------------------------------------===//
#include "compiler/import/Float8.h"
#include "compiler/import/Dequantize.h"
#include "compiler/import/ImportErrors.h"
#include "compiler/import/RawTensors.h"

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
                    config.oneOf("fmt", {"e4m3"})})
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
  for (auto fine : {group.oneOf("format", {"float-quantized", "naive-quantized"}),
                    group.exactly("weights.num_bits", int64_t(8)),
                    group.oneOf("weights.type", {"float"}),
                    group.exactly("weights.symmetric", true),
                    group.exactly("weights.dynamic", false),
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

/// What else compressed-tensors can be is CompressedTensors.cpp's.
bool isFloatQuantized(const QuantConfig &config) {
  const std::string *format = config.text("format");
  for (const std::string &group : config.members("config_groups"))
    if (const std::string *type = config.text(group + "weights.type"); type && *type == "int")
      return false;
  return format && (*format == "float-quantized" || *format == "naive-quantized");
}

Result<Formats> readCompressedTensors(const QuantConfig &config) {
  config.harmless({"quant_method", "format", "quantization_status", "ignore", "kv_cache_scheme*",
                   "global_compression_ratio", "version"});
  if (auto dense = config.oneOf("sparsity_config.format", {"dense"}); !dense)
    return dense.error();
  config.harmless({"sparsity_config.*"});
  Formats formats;
  for (const std::string &group : config.members("config_groups")) {
    Result<Formats> found = readGroup(config.in(group));
    if (!found)
      return found;
    formats.merge(*found);
  }
  if (formats.empty())
    return config.unsupported("config_groups", "no group with a strategy of weights",
                              "tensor, channel, block");
  return formats;
}

Result<Formats> formatsOf(const QuantConfig &config) {
  const std::string *method = config.text("quant_method");
  if (method && *method == "fp8")
    return readFp8(config);
  if (method && *method == "compressed-tensors" && isFloatQuantized(config))
    return readCompressedTensors(config);
  return Formats();
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// The extents of the scales of a matrix, as a list of rows and columns.
std::pair<int64_t, int64_t> extentsOf(WeightFormat format, int64_t n, int64_t k) {
  switch (format) {
  case WeightFormat::Fp8Tensor:
    return {1, 1};
  case WeightFormat::Fp8:
    return {n, 1};
  default:
    return {blocksOf(n), blocksOf(k)};
  }
}

/// Kernels multiply a scale by 2^8 and a sum by a scale: the limits are far from f32's, and from
/// any model's.
bool isFineScale(float scale) { return scale >= 0x1p-100f && scale <= 0x1p+100f; }

class Scales {
public:
  Scales(CheckpointBuilder &builder, const Formats &formats)
      : builder(builder), formats(formats) {
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
    if (!numericFormat(scales->format).isFloat() || tensor.shape.size() != 2)
      return refuse(
          cause::fp8ScaleShape, line("tensor ", inQuotes(tensor.name), " is fp8 in an odd way"),
          line("a matrix with scales of F32, BF16 or F16 is expected; it is ",
               printedShape(tensor.shape), " with scales of ", numericFormat(scales->format).name),
          "convert the checkpoint again");
    std::optional<WeightFormat> format = formatOf(tensor, *scales);
    if (!format)
      return wrongShape(tensor, *scales);
    tensor.format = *format;
    taken.insert(scales->name);
    return read(tensor, *scales);
  }

  /// The kind whose scales have this shape; a scalar is [1] here.
  std::optional<WeightFormat> formatOf(const Tensor &tensor, const Tensor &scales) const {
    for (WeightFormat format : formats) {
      auto [rows, columns] = extentsOf(format, tensor.shape[0], tensor.shape[1]);
      bool flat = scales.shape.size() == 1 && columns == 1 && scales.shape[0] == rows;
      if (flat || scales.shape == std::vector<int64_t>{rows, columns})
        return format;
    }
    return std::nullopt;
  }

  Error wrongShape(const Tensor &tensor, const Tensor &scales) const {
    std::string expected;
    for (WeightFormat format : formats) {
      auto [rows, columns] = extentsOf(format, tensor.shape[0], tensor.shape[1]);
      expected += line(expected.empty() ? "" : " or ", rows, "x", columns);
    }
    return refuse(cause::fp8ScaleShape,
                  line("the scales ", inQuotes(scales.name), " have the wrong shape"),
                  line("found ", printedShape(scales.shape), "; a weight of ", printedShape(tensor.shape),
                       " needs ", expected, ", as config.json says"),
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
