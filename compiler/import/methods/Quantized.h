//===- Quantized.h - Checkpoints whose weights are quantised ---------------===//
//
// quantization_config of config.json names the method of quantisation (older GPTQ checkpoints use
// quantize_config.json, Model Optimizer uses hf_quant_config.json). Each method has a reader:
//
//   fp8, compressed-tensors with floats   Float8.h
//   gptq, auto-round                      Gptq.cpp: 2, 3, 4 and 8 bits, v1 and v2
//   awq                                   Awq.cpp: the gemm version
//   compressed-tensors, all others        CompressedTensors.cpp: pack-quantized, int-quantized, naive-quantized,
//                                         mxfp4-pack-quantized, nvfp4-pack-quantized, mxfp8-quantized
//   mxfp4                                 Mxfp4.cpp: gpt-oss
//   bitsandbytes                          BitsAndBytes.cpp: LLM.int8, nf4, fp4
//   modelopt                              ModelOpt.cpp: NVFP4, FP8, MXFP8
//   (quantization, without a method)      Mlx.cpp
//
// Each reader takes the parts of a matrix and adds one tensor, NAME.weight, so families do not depend on the method.
// All other methods are refused by name. The tensors show which modules are quantised, so the lists of modules
// (targets, modules_to_not_convert, ignore) are not needed.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/files/Folder.h"
#include "compiler/import/methods/QuantConfig.h"
#include "compiler/import/parts/RawTensors.h"

namespace ingot::import {

/// A quantisation method, named as in quantization_config.quant_method; MLX's name is empty.
struct QuantMethod {
  std::string_view name;
  Result<void> (*read)(CheckpointBuilder &builder, const QuantConfig &config);
  std::string_view reads, becomes; ///< for documentation (docs/models.md)
};

/// Returns all supported methods.
std::span<const QuantMethod> quantMethods();

/// Reads quantize_config.json or hf_quant_config.json if config.json has no quantisation settings. Errors: all errors
/// of readConfig.
Result<void> readQuantizeConfig(Folder &folder, CheckpointBuilder &builder);

/// Assembles tensors from the parts of quantised weights. Refuses the remaining raw tensors (E0218), except masks. Call
/// it once all tensors and the configuration are read. Errors: E0470 to E0473 (Float8.h, and an unsupported
/// configuration), E0477 (a part that is missing, or has another type or shape), E0478 (a value that is not valid).
Result<void> readQuantized(CheckpointBuilder &builder);

/// The readers. Each is called if quantization_config names its method; `config` is its scope.
Result<void> readGptq(CheckpointBuilder &builder, const QuantConfig &config);
/// AutoRound, which packs as GPTQ or AWQ does.
Result<void> readAutoRound(CheckpointBuilder &builder, const QuantConfig &config);
Result<void> readAwq(CheckpointBuilder &builder, const QuantConfig &config);
Result<void> readCompressedTensors(CheckpointBuilder &builder, const QuantConfig &config);
Result<void> readMxfp4(CheckpointBuilder &builder, const QuantConfig &config);
Result<void> readBitsAndBytes(CheckpointBuilder &builder, const QuantConfig &config);
Result<void> readModelOpt(CheckpointBuilder &builder, const QuantConfig &config);
/// Reads MLX. Its configuration is called `quantization` and names no method.
Result<void> readMlx(CheckpointBuilder &builder, const QuantConfig &config);

/// Returns a view with the scope of Model Optimizer's keys.
QuantConfig modelOptScope(const QuantConfig &config);

/// Names of the tensors that make up a matrix.
struct CodesAndScales {
  std::string codes, scales;
};
/// Adds a matrix of MXFP4, NAME.weight. Its codes are in bytes or in words of eight codes, with the first code in the
/// low nibble. It has an exponent per 32 values. `types` are the types that codes may have. Errors: E0477.
Result<void> addMxfp4(RawTensors &parts, const std::string &name, const CodesAndScales &stored,
                      std::string_view types);
/// Adds a matrix of NVFP4, NAME.weight, from codes in bytes or in words of eight codes, and E4M3 scales
/// (Nvfp4.h). Errors: E0477.
Result<void> addNvfp4(RawTensors &parts, const std::string &name, const CodesAndScales &stored,
                      float factor);
/// Returns whether NAME.weight and NAME.weight_scale form an MXFP8 matrix. This follows from the configuration
/// (`given`) or from the shape of scales that are stored as bytes. The types alone do not show it, since a matrix of
/// E4M3 codes with power-of-two scales may also be fp8 (Float8.h).
bool isMxfp8(const RawTensors &parts, const std::string &name, bool given);
/// Adds a matrix of MXFP8, NAME.weight, as bf16 (Mxfp8.cpp). Errors: E0477.
Result<void> addMxfp8(RawTensors &parts, const std::string &name, const CodesAndScales &stored);

} // namespace ingot::import
