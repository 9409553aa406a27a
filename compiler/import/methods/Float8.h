//===- Float8.h - Attaches the scales of fp8 checkpoints ------------------===//
//
// A safetensors checkpoint keeps an E4M3 matrix NAME.weight and its scales as two tensors;
// quantization_config in config.json determines which kinds of scales there may be:
//
//   quant_method fp8                    with weight_block_size [128, 128]: NAME.weight_scale_inv, a grid
//   (DeepSeek, HF, vLLM)                  of ceil(n/128) x ceil(k/128); without it one number per
//                                         tensor, NAME.weight_scale (or _inv)
//   quant_method modelopt               NAME.weight_scale, by quant_algo (ModelOpt.cpp)
//   quant_method compressed-tensors     NAME.weight_scale: [1], [n] or [n, 1], or the grid, depending
//   (format float-quantized)              on a group's strategy: tensor, channel, block
//
// In all of them, w = scale * code. (The suffix `inv` means the inverse of the quantiser's factor.) Scales are kept as
// f32, which holds every bf16, f16 or E8M0 scale exactly. The checkpoint's settings for quantised activations are not
// used. These settings (input_scale, activation_scheme) and the scales of a KV cache are skipped by name.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/methods/QuantConfig.h"

namespace ingot::import {

/// Gives every fp8 tensor its scales and removes the scales from the list of tensors; marks the keys of
/// quantization_config that it understands. Call it once all tensors and the configuration are read. Errors:
/// E0470 (scales are missing, belong to no tensor, or are not described), E0471 (their shape), E0472 (NaN,
/// negative, beyond 2^±100; zero or tiny over codes that are not all zero), E0473 (an unsupported
/// configuration), E0477 (their type).
Result<void> attachFloat8Scales(CheckpointBuilder &builder, const QuantConfig &config);

} // namespace ingot::import
