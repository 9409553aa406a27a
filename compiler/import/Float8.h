//===- Float8.h - fp8 checkpoints: weights meet their scales --------------===//
//
// A safetensors checkpoint keeps an E4M3 matrix NAME.weight and its scales as two tensors;
// config.json's quantization_config says which kinds of scales there may be:
//
//   quant_method fp8                    weight_block_size [128, 128]: NAME.weight_scale_inv, a grid
//   of (DeepSeek, HF, vLLM)                ceil(n/128) x ceil(k/128); without it one number per
//   tensor,
//                                       NAME.weight_scale (or _inv)
//   quant_method modelopt               NAME.weight_scale, by quant_algo (ModelOpt.cpp)
//   quant_method compressed-tensors     NAME.weight_scale: [1], [n] or [n, 1], or the grid, as a
//   group's (format float-quantized)            strategy says: tensor, channel, block
//
// w = scale * code in all of them (`inv` is of another's point of view). Scales are kept as f32: a
// bf16, f16 or E8M0 scale is one exactly. Activations are not rounded by what a checkpoint says of them
// (input_scale, activation_scheme): that, and scales of a cache, are passed over by name.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/QuantConfig.h"

namespace ingot::import {

/// Gives every fp8 tensor its scales and takes the scales out of the list of tensors; marks the
/// keys of quantization_config that it understands. Call it when all tensors and the configuration
/// are read. Errors: E0470 (no scales, scales of nothing, nothing said about them), E0471 (their
/// shape), E0472 (NaN, negative, beyond 2^±100; zero or tiny over codes that are not all zero), E0473 (a
/// configuration that means something else), E0477 (their type).
Result<void> attachFloat8Scales(CheckpointBuilder &builder, const QuantConfig &config);

} // namespace ingot::import
