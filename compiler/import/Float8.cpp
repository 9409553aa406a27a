//===- Float8.cpp - See Float8.h ------------------------------------------===//
#include "compiler/import/Float8.h"
#include "compiler/import/Codes.h"
#include "compiler/import/ImportErrors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <set>

namespace ingot::import {

namespace {

constexpr char kScope[] = "quantization_config.";
constexpr int64_t kBlock = 128;

int64_t blocksOf(int64_t extent) { return (extent + kBlock - 1) / kBlock; }

Error badConfig(const std::string &key, const std::string &found, const std::string &supported) {
  return refuse(cause::fp8Config, line("the model's ", inQuotes(key), " is not supported"),
                line("found ", found, ", supported: ", supported),
                "use another checkpoint, or quantise the original one: --quantize fp8");
}

//===----------------------------------------------------------------------===//
// quantization_config
//===----------------------------------------------------------------------===//

/// What config.json says about fp8 weights.
class Config {
public:
  explicit Config(CheckpointBuilder &builder) : builder(builder) {}

  /// Empty `formats`: this is no fp8 checkpoint.
  Result<void> read() {
    const std::string *method = text(kScope + std::string("quant_method"));
    if (method && *method == "fp8")
      return readFp8();
    if (method && *method == "compressed-tensors" && isFloatQuantized())
      return readCompressedTensors();
    return {};
  }

  std::set<WeightFormat> formats; ///< that matrices may have

private:
  const MetaValue *find(const std::string &key) const {
    const MetaValue *value = builder.metadata(key);
    return value && !std::holds_alternative<std::monostate>(*value) ? value : nullptr;
  }
  const std::string *text(const std::string &key) const {
    const MetaValue *value = find(key);
    return value ? std::get_if<std::string>(value) : nullptr;
  }
  static bool isPair(const MetaValue &value) {
    const auto *array = std::get_if<MetaArray>(&value);
    const auto *numbers = array ? std::get_if<std::vector<int64_t>>(array) : nullptr;
    return numbers && *numbers == std::vector<int64_t>{kBlock, kBlock};
  }

  /// A key that may be missing, and otherwise is one of these texts.
  Result<void> oneOf(const std::string &key, std::initializer_list<std::string_view> texts) {
    builder.markUsed(key);
    const std::string *found = text(key);
    if (!find(key) || (found && std::ranges::find(texts, *found) != texts.end()))
      return {};
    std::string list;
    for (std::string_view each : texts)
      list += (list.empty() ? "" : ", ") + std::string(each);
    return badConfig(key, found ? inQuotes(*found) : "no text", list);
  }
  template <typename T> Result<void> exactly(const std::string &key, T wanted) {
    builder.markUsed(key);
    const MetaValue *value = find(key);
    const T *found = value ? std::get_if<T>(value) : nullptr;
    if (!value || (found && *found == wanted))
      return {};
    return badConfig(key, found ? line(*found) : "another type", line(wanted));
  }
  /// Keys that change nothing about the weights; '*' at the end matches any rest.
  void harmless(const std::string &scope, std::initializer_list<std::string_view> patterns) {
    for (std::string_view pattern : patterns) {
      bool open = pattern.ends_with('*');
      std::string begin = scope + std::string(pattern.substr(0, pattern.size() - open));
      for (const auto &[key, value] : builder.allMetadata())
        if (open ? key.starts_with(begin) : key == begin)
          builder.markUsed(key);
    }
  }

  Result<void> readFp8() {
    const std::string scope = kScope;
    harmless(scope, {"quant_method", "modules_to_not_convert", "ignored_layers", "dequantize",
                     "kv_cache_scheme*", "scale_fmt"});
    for (auto fine : {oneOf(scope + "activation_scheme", {"dynamic", "static"}),
                      oneOf(scope + "fmt", {"e4m3"})})
      if (!fine)
        return fine;
    const MetaValue *block = find(scope + "weight_block_size");
    builder.markUsed(scope + "weight_block_size");
    if (block && !isPair(*block))
      return badConfig(scope + "weight_block_size", "something else",
                       "[128, 128], or none (a scale per tensor)");
    formats = {block ? WeightFormat::Fp8Block128 : WeightFormat::Fp8Tensor};
    return {};
  }

  /// What else compressed-tensors can be is CompressedTensors.cpp's.
  bool isFloatQuantized() const {
    const std::string *format = text(kScope + std::string("format"));
    for (const auto &[key, value] : builder.allMetadata())
      if (key.starts_with(kScope) && key.ends_with(".weights.type") &&
          value == MetaValue(std::string("int")))
        return false;
    return format && (*format == "float-quantized" || *format == "naive-quantized");
  }

  Result<void> readCompressedTensors() {
    const std::string scope = kScope;
    harmless(scope, {"quant_method", "format", "quantization_status", "ignore", "kv_cache_scheme*",
                     "global_compression_ratio", "version"});
    if (find(scope + "sparsity_config.format")) {
      if (auto dense = oneOf(scope + "sparsity_config.format", {"dense"}); !dense)
        return dense;
      harmless(scope, {"sparsity_config.*"});
    }
    std::set<std::string> groups;
    const std::string begin = scope + "config_groups.";
    for (const auto &[key, value] : builder.allMetadata())
      if (key.starts_with(begin))
        groups.insert(key.substr(0, std::min(key.find('.', begin.size()), key.size()) + 1));
    for (const std::string &group : groups)
      if (auto read = readGroup(group); !read)
        return read;
    if (formats.empty())
      return badConfig(scope + "config_groups", "no group with a strategy of weights",
                       "tensor, channel, block");
    return {};
  }

  Result<void> readGroup(const std::string &group) {
    const std::string weights = group + "weights.";
    harmless(group, {"targets", "input_activations.*", "weights.observer*", "weights.scale_dtype",
                     "weights.zp_dtype"});
    for (auto fine :
         {oneOf(group + "format", {"float-quantized", "naive-quantized"}),
          exactly<int64_t>(weights + "num_bits", 8), oneOf(weights + "type", {"float"}),
          exactly<bool>(weights + "symmetric", true), exactly<bool>(weights + "dynamic", false),
          oneOf(weights + "strategy", {"tensor", "channel", "block"})})
      if (!fine)
        return fine;
    const std::string *strategy = text(weights + "strategy");
    if (!strategy)
      return {};
    const MetaValue *block = find(weights + "block_structure");
    builder.markUsed(weights + "block_structure");
    if (*strategy == "block" && (!block || !isPair(*block)))
      return badConfig(weights + "block_structure", "something else", "[128, 128]");
    formats.insert(*strategy == "tensor"    ? WeightFormat::Fp8Tensor
                   : *strategy == "channel" ? WeightFormat::Fp8
                                            : WeightFormat::Fp8Block128);
    return {};
  }

  CheckpointBuilder &builder;
};

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

std::string printed(std::span<const int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

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

float numberAt(const Tensor &tensor, int64_t i) {
  const std::byte *from = tensor.data.data() + i * storedBlockBytes(tensor.format);
  uint16_t half = 0;
  uint32_t bits = 0;
  if (tensor.format == WeightFormat::F32) {
    std::memcpy(&bits, from, sizeof bits);
    return std::bit_cast<float>(bits);
  }
  std::memcpy(&half, from, sizeof half);
  return tensor.format == WeightFormat::F16 ? f16ToF32(half)
                                            : std::bit_cast<float>(uint32_t(half) << 16);
}

/// Kernels multiply a scale by 2^8 and a sum by a scale: the limits are far from f32's, and from
/// any model's.
bool isFineScale(float scale) { return scale >= 0x1p-100f && scale <= 0x1p+100f; }

class Scales {
public:
  Scales(CheckpointBuilder &builder, const std::set<WeightFormat> &formats)
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
               printed(tensor.shape), " with scales of ", numericFormat(scales->format).name),
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
                  line("found ", printed(scales.shape), "; a weight of ", printed(tensor.shape),
                       " needs ", expected, ", as config.json says"),
                  "take configuration and tensors from the same checkpoint");
  }

  Result<void> read(Tensor &tensor, const Tensor &scales) {
    auto numbers = std::make_shared<std::vector<float>>(static_cast<size_t>(scales.elements()));
    for (size_t i = 0; i < numbers->size(); ++i) {
      float scale = (*numbers)[i] = numberAt(scales, static_cast<int64_t>(i));
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
  const std::set<WeightFormat> &formats;
  std::map<std::string, const Tensor *, std::less<>> byName;
  std::set<std::string, std::less<>> taken;
};

} // namespace

Result<void> attachFloat8Scales(CheckpointBuilder &builder) {
  Config config(builder);
  if (Result<void> read = config.read(); !read)
    return read;
  if (config.formats.size() == 1)
    builder.setLayerFormat(*config.formats.begin());
  return Scales(builder, config.formats).attach();
}

} // namespace ingot::import
