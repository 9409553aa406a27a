//===- ByteScales.h - Scales of eight bits, of whatever type they are stored --===//
//
// MXFP4 and MXFP8 have a power of two for each group (E8M0), NVFP4 a number of E4M3. Writers store them as that type, as bytes,
// or as the floats that they are.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/RawTensors.h"

#include <functional>

namespace ingot::import {

/// What a byte of a format's scales means, and the types that they may be stored as.
enum class ByteScale : uint8_t { E8M0, E4M3 };
std::string_view typesOf(ByteScale kind);

/// The bytes of all scales, which live as long as the checkpoint. A scale that the format cannot hold is E0478, but for one
/// that is 0 or smaller than the least of them where `codesAreZero` of its group: the products are 0 whatever it is.
Result<std::span<const std::byte>> byteScales(RawTensors &parts, const Part &scales, ByteScale kind,
                                              const std::function<bool(int64_t)> &codesAreZero);

/// Whether `count` codes from `first` on are all zero, of either sign: of E2M1, two to a byte, or of E4M3.
bool areZeroE2M1(std::span<const std::byte> codes, int64_t first, int64_t count);
bool areZeroE4M3(std::span<const std::byte> codes, int64_t first, int64_t count);

} // namespace ingot::import
