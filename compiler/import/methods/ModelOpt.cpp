//===- ModelOpt.cpp - Checkpoints of NVIDIA's Model Optimizer --------------===//
//
//   NVFP4, W4A16_NVFP4         X.weight U8, X.weight_scale F8_E4M3, X.weight_scale_2 F32: Nvfp4.h
//   MXFP8                      X.weight F8_E4M3 [N, K], X.weight_scale U8 [N, K / 32]: Mxfp8.cpp
//   FP8, FP8_PB_WO,            X.weight F8_E4M3, X.weight_scale F32 [1], [N / 128, 1, K / 128, 1] or [N]: Float8.h
//   FP8_PER_CHANNEL_PER_TOKEN
//   MIXED_PRECISION            each layer uses one of these
//
// The tensors show how each matrix is quantised, so the lists of layers (quantized_layers, exclude_modules) are not
// needed.
//
// Source: modelopt/torch/export; for the arithmetic, modelopt/torch/quantization/qtensor.
//===----------------------------------------------------------------------===//
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/methods/Nvfp4.h"
#include "compiler/import/methods/Quantized.h"
#include "compiler/import/parts/ByteScales.h"
#include "compiler/import/parts/GroupMaker.h"

namespace ingot::import {

namespace {

Result<void> readNvfp4(RawTensors &parts, const std::string &name) {
  Result<const Part *> factor = parts.take(name + ".weight_scale_2", kScaleTypes, {1});
  if (!factor)
    return factor.error();
  return addNvfp4(parts, name, {name + ".weight", name + ".weight_scale"}, (*factor)->number(0));
}

} // namespace

Result<void> addNvfp4(RawTensors &parts, const std::string &name, const CodesAndScales &stored,
                      float factor) {
  Result<const Part *> codes = parts.take(stored.codes, "U8 U32", {-1, -1});
  if (!codes)
    return codes.error();
  const int64_t n = (*codes)->shape[0], k = (*codes)->shape[1] * ((*codes)->dtype == "U8" ? 2 : 8);
  if (auto whole = expectWholeGroups(name, k, 16); !whole)
    return whole;
  Result<const Part *> scales = parts.take(stored.scales, typesOf(ByteScale::E4M3), {n, k / 16});
  if (!scales)
    return scales.error();
  Result<std::span<const std::byte>> bytes =
      byteScales(parts, **scales, ByteScale::E4M3,
                 [&](int64_t g) { return areZeroE2M1((*codes)->data, g * 16, 16); });
  if (!bytes)
    return bytes.error();
  Tensor tensor{name + ".weight", WeightFormat::Nvfp4, {n, k}, {}};
  tensor.maker = makeNvfp4({k, n, (*codes)->data, *bytes, {factor}});
  return parts.put(std::move(tensor));
}

Result<void> readModelOpt(CheckpointBuilder &builder, const QuantConfig &config) {
  const QuantConfig own = modelOptScope(config);
  config.harmless({"quant_method", "producer*", "config_groups*", "ignore*", "version"});
  own.harmless({"kv_cache_quant_algo", "kv_cache_scheme*", "group_size", "exclude_modules*",
                "quantized_layers*", "quant_method", "has_zero_point", "pre_quant_scale"});
  if (auto known = own.oneOf("quant_algo", {"FP8", "FP8_PB_WO", "FP8_PER_CHANNEL_PER_TOKEN",
                                            "NVFP4", "W4A16_NVFP4", "MXFP8", "MIXED_PRECISION"});
      !known)
    return known;
  const std::string *algorithm = own.text("quant_algo");
  if (algorithm && algorithm->ends_with("NVFP4"))
    builder.setLayerFormat(WeightFormat::Nvfp4);
  RawTensors parts(builder);
  if (const std::vector<std::string> names = parts.endingWith(".pre_quant_scale"); !names.empty())
    return refuse(cause::fp8Config,
                  line("activations pre-scaled by ", inQuotes(names.front()), " are not supported"),
                  line(names.size(), " matrices have pre_quant_scale (AWQ of Model Optimizer)"),
                  "use a checkpoint without it, or the original one with --quantize int4-g64");
  for (const std::string &name : parts.endingWith(".weight_scale_2"))
    if (auto read = readNvfp4(parts, name); !read)
      return read;
  const bool saysMxfp8 = algorithm && *algorithm == "MXFP8";
  for (const std::string &name : parts.endingWith(".weight_scale")) {
    if (isMxfp8(parts, name, saysMxfp8))
      if (auto read = addMxfp8(parts, name, {name + ".weight", name + ".weight_scale"}); !read)
        return read;
  }
  for (std::string_view ending :
       {".input_scale", ".k_scale", ".v_scale", ".q_scale", ".output_scale"})
    for (const std::string &name : parts.endingWith(ending))
      parts.drop(name + std::string(ending));
  parts.finish();
  return {};
}

bool isMxfp8(const RawTensors &parts, const std::string &name, bool given) {
  const Part *codes = parts.find(name + ".weight"), *scales = parts.find(name + ".weight_scale");
  if (!codes || !scales || codes->dtype != "F8_E4M3" || codes->shape.size() != 2)
    return false;
  const bool inBytes = scales->dtype == "U8" || scales->dtype == "F8_E8M0";
  return given ||
         (inBytes && scales->shape == std::vector{codes->shape[0], (codes->shape[1] + 31) / 32});
}

QuantConfig modelOptScope(const QuantConfig &config) {
  // hf_quant_config.json has one more level of nesting than config.json.
  return config.has("quantization.quant_algo") ? config.in("quantization.") : config;
}

} // namespace ingot::import
