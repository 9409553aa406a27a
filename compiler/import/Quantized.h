//===- Quantized.h - Checkpoints whose weights are quantised ---------------===//
//
// A method of quantisation is what config.json's quantization_config (or quantize_config.json, of older GPTQ
// checkpoints, or hf_quant_config.json, of Model Optimizer) names, and a reader here:
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
// Each takes the parts of a matrix and adds one tensor, NAME.weight, so that families know nothing of it. All other
// methods are refused by name. Which modules are quantised is seen in their tensors: lists of modules that are
// (targets, modules_to_not_convert, ignore) are not needed.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Folder.h"
#include "compiler/import/QuantConfig.h"
#include "compiler/import/RawTensors.h"

namespace ingot::import {

/// A method, as quantization_config.quant_method names it; MLX's name is empty.
struct QuantMethod {
  std::string_view name;
  Result<void> (*read)(CheckpointBuilder &builder, const QuantConfig &config);
  std::string_view reads, becomes; ///< for people (docs/models.md)
};

/// All that are read.
std::span<const QuantMethod> quantMethods();

/// Reads quantize_config.json or hf_quant_config.json where config.json says nothing about quantisation. Errors as
/// readConfig's.
Result<void> readQuantizeConfig(Folder &folder, CheckpointBuilder &builder);

/// Makes tensors of what quantised weights are stored as; refuses raw tensors that are left (E0218), but for masks.
/// Call it when all tensors and the configuration are read. Errors: E0470 to E0473 (Float8.h, and a configuration that
/// means something else), E0477 (a part that is missing, or of another type or shape), E0478 (a number that none is).
Result<void> readQuantized(CheckpointBuilder &builder);

/// The readers. Each is called when quantization_config names its method; `config` is its scope.
Result<void> readGptq(CheckpointBuilder &builder, const QuantConfig &config);
/// Of AutoRound, which packs as GPTQ or AWQ does.
Result<void> readAutoRound(CheckpointBuilder &builder, const QuantConfig &config);
Result<void> readAwq(CheckpointBuilder &builder, const QuantConfig &config);
Result<void> readCompressedTensors(CheckpointBuilder &builder, const QuantConfig &config);
Result<void> readMxfp4(CheckpointBuilder &builder, const QuantConfig &config);
Result<void> readBitsAndBytes(CheckpointBuilder &builder, const QuantConfig &config);
Result<void> readModelOpt(CheckpointBuilder &builder, const QuantConfig &config);
/// Of MLX, whose configuration is called `quantization` and names no method.
Result<void> readMlx(CheckpointBuilder &builder, const QuantConfig &config);

/// A matrix (or a stack of them) of MXFP4: codes two to a byte, the lower first, and an exponent for each 32.
/// `blocks` has as many bytes as half the elements of `shape`, `scales` one for 32. E0477: rows that end inside of a group.
Result<void> addMxfp4(RawTensors &parts, std::string name, std::vector<int64_t> shape,
                      const Part &blocks, const Part &scales);

/// Where keys of Model Optimizer are counted from.
QuantConfig modelOptScope(const QuantConfig &config);

/// What the tensors of a matrix are called.
struct CodesAndScales {
  std::string codes, scales;
};
/// A matrix of NVFP4, NAME.weight: codes in bytes or words of eight, scales of E4M3 (Nvfp4.h). E0477.
Result<void> addNvfp4(RawTensors &parts, const std::string &name, const CodesAndScales &stored,
                      float factor);
/// Whether NAME.weight and NAME.weight_scale are one: the configuration says so, or the shape of scales in bytes does. E4M3
/// under powers of two may be fp8 too (Float8.h).
bool isMxfp8(const RawTensors &parts, const std::string &name, bool said);
/// A matrix of MXFP8, NAME.weight, which becomes bf16 (Mxfp8.cpp). E0477.
Result<void> addMxfp8(RawTensors &parts, const std::string &name, const CodesAndScales &stored);

} // namespace ingot::import
