//===- Quantized.cpp - Selects the reader that a checkpoint needs ----------===//
#include "compiler/import/methods/Quantized.h"
#include "compiler/import/config/ConfigJson.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/methods/Float8.h"

#include <algorithm>

namespace ingot::import {

namespace {

constexpr char kScope[] = "quantization_config.";
/// Files next to config.json that may have the settings, and the method to assume if they name none.
constexpr std::pair<const char *, const char *> kOtherConfigs[] = {
    {"quantize_config.json", "gptq"}, // AutoGPTQ's; the file of AutoAWQ names its method
    {"quant_config.json", "awq"},
    {"hf_quant_config.json", "modelopt"},
};
constexpr uint64_t kMaxQuantConfig = uint64_t(1) << 20;

constexpr std::string_view kSame = "the same numbers";
constexpr QuantMethod kMethods[] = {
    {"gptq", readGptq, "2, 3, 4 and 8 bits, v1 and v2", "the same numbers, act-order too"},
    {"auto-round", readAutoRound, "packed as GPTQ or as AWQ", "the same numbers, act-order too"},
    {"awq", readAwq, "the gemm version", kSame},
    {"compressed-tensors", readCompressedTensors,
     "integers of 4 and 8 bits, fp8, mxfp4, mxfp8, nvfp4, mixed",
     "the same numbers, act-order too; mxfp8 in bf16"},
    {"modelopt", readModelOpt, "NVFP4, FP8, MXFP8, mixed", "the same numbers; MXFP8 in bf16"},
    {"mxfp4", readMxfp4, "gpt-oss", kSame},
    {"fp8", [](CheckpointBuilder &, const QuantConfig &) { return Result<void>(); }, // Float8.h
     "scales per tensor and 128 x 128", kSame},
    {"bitsandbytes", readBitsAndBytes, "int8; NF4 and FP4, nested too",
     "the same numbers; NF4 and FP4 nearly"},
    {"", readMlx, "MLX: 2 to 6 and 8 bits, mxfp4, mxfp8, nvfp4", "the same numbers; mxfp8 in bf16"},
};

/// Aliases of methods that store tensors in the same way. Names are in lower case, with '-' instead of '_'.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"gptqmodel", "gptq"},
    {"gptq-v2", "gptq"},
    {"gptq-marlin", "gptq"},
    {"auto-gptq", "gptq"},
    {"autogptq", "gptq"},
    {"optimum-gptq", "gptq"},
    {"rtn", "gptq"},
    {"teq", "gptq"},
    {"autoround", "auto-round"},
    {"intel/auto-round", "auto-round"},
    {"inc", "auto-round"},
    {"auto-awq", "awq"},
    {"autoawq", "awq"},
    {"awq-marlin", "awq"},
    {"modelopt-fp4", "modelopt"},
};

/// Returns the name that a method has in kMethods.
std::string commonName(std::string method) {
  for (char &c : method)
    c = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (auto [other, common] : kOtherNames)
    if (method == other)
      return std::string(common);
  return method;
}

bool saysSomething(const CheckpointBuilder &builder) {
  for (const auto &[key, value] : builder.allMetadata())
    if (key.starts_with(kScope) && !std::holds_alternative<std::monostate>(value))
      return true;
  return false;
}

Error unknownMethod(const std::string &method) {
  std::string known;
  for (const QuantMethod &each : kMethods)
    if (!each.name.empty())
      known += (known.empty() ? "" : ", ") + std::string(each.name);
  return refuse(
      cause::fp8Config, line("the checkpoint is quantised by ", inQuotes(method)),
      line("quantization_config.quant_method; supported: ", known),
      "use the original checkpoint, with --quantize int4-g64 or fp8, or one of these methods");
}

/// Handles the tensors that no reader took. It refuses them, except possible masks, about which families decide.
Result<void> settleRaw(CheckpointBuilder &builder) {
  for (RawTensor &tensor : builder.raw())
    if (tensor.dtype == "U8" || tensor.dtype == "BOOL")
      builder.addUnread({std::move(tensor.name), tensor.dtype});
    else
      return refuse(cause::typeUnsupported,
                    line("tensor ", inQuotes(tensor.name), " has the type ", tensor.dtype),
                    line(tensor.dtype, " is not supported; these 4 are: F32 F16 BF16 F8_E4M3"),
                    "use the original checkpoint in BF16, F16 or F32");
  builder.raw().clear();
  return {};
}

} // namespace

std::span<const QuantMethod> quantMethods() { return kMethods; }

Result<void> readQuantizeConfig(Folder &folder, CheckpointBuilder &builder) {
  for (auto [name, method] : kOtherConfigs) {
    if (!folder.has(name) || saysSomething(builder))
      continue;
    Result<std::shared_ptr<const MappedFile>> file = folder.open(name, kMaxQuantConfig);
    if (!file)
      return file.error();
    if (auto read =
            readSettings((*file)->text(), folder.pathOf(name), "quantization_config", builder);
        !read)
      return read;
    const std::string key = kScope + std::string("quant_method");
    if (!builder.metadata(key))
      if (auto added = builder.addMetadata(key, std::string(method)); !added)
        return added;
  }
  return {};
}

Result<void> readQuantized(CheckpointBuilder &builder) {
  const QuantConfig config(builder, kScope);
  const std::string *named = config.text("quant_method");
  if (!named)
    named = config.text("method"); // GPTQModel from version 6 on
  if (named) {
    const std::string method = commonName(*named);
    const auto *reader = std::ranges::find(kMethods, method, &QuantMethod::name);
    if (reader == std::end(kMethods) || method.empty())
      return unknownMethod(*named);
    if (auto read = reader->read(builder, config); !read)
      return read;
  } else if (const QuantConfig mlx(builder, "quantization.");
             mlx.has("bits") || mlx.has("group_size")) {
    config.harmless({"*"}); // quantization_config is a copy of the same settings
    if (auto read = readMlx(builder, mlx); !read)
      return read;
  }
  if (auto scaled = attachFloat8Scales(builder, config); !scaled)
    return scaled;
  return settleRaw(builder);
}

} // namespace ingot::import
