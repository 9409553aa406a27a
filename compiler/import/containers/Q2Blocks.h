//===- Q2Blocks.h - Q2_0 with blocks of 128 values -------------------------===//
//
// Upstream's Q2_0 has 64 values per scale, in 18 bytes (Codes.h). A fork of llama.cpp, and the models that
// were made with it (Bonsai), have 128 values in 34 bytes: d qs[32], with codes in the same order. Rows are
// converted to upstream's form: each wide block becomes two blocks with the same scale and the same values.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"

namespace ingot::import {

constexpr int64_t kWideQ2Values = 128, kWideQ2Bytes = 34;

/// Returns the size in blocks of 128 values of a tensor that takes `narrow` bytes in blocks of 64 values. Its rows must
/// be whole blocks of 128.
constexpr uint64_t wideQ2Bytes(uint64_t narrow) { return narrow / 36 * kWideQ2Bytes; }

/// Makes rows of `columns` values, a multiple of 128. `blocks` must live as long as the checkpoint.
std::shared_ptr<const BlockMaker> makeOfWideQ2(int64_t columns, std::span<const std::byte> blocks);

} // namespace ingot::import
