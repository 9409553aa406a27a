//===- Q2Blocks.h - Q2_0 with blocks of 128 values -------------------------===//
//
// Upstream's Q2_0 has 64 values under a scale, in 18 bytes (Codes.h). A fork of llama.cpp, and the models that were made with
// it (Bonsai), have 128 in 34: d qs[32], the codes in the same order. Each is two blocks of upstream's under one scale, and
// that is what rows are made of: the same numbers.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Checkpoint.h"

namespace ingot::import {

constexpr int64_t kWideQ2Values = 128, kWideQ2Bytes = 34;

/// The bytes of a tensor that takes `narrow` of them in blocks of 64 values; rows are whole blocks of 128.
constexpr uint64_t wideQ2Bytes(uint64_t narrow) { return narrow / 36 * kWideQ2Bytes; }

/// Rows of `columns` values, whole blocks of 128. `blocks` lives as long as the checkpoint.
std::shared_ptr<const BlockMaker> makeOfWideQ2(int64_t columns, std::span<const std::byte> blocks);

} // namespace ingot::import
