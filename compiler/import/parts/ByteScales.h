//===- ByteScales.h - Eight-bit scales, however they are stored ---------------===//
//
// MXFP4 and MXFP8 have a power of two per group (E8M0), and NVFP4 has an E4M3 number per group. Writers store these
// scales in that type, as bytes, or as floats of the same value.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/parts/RawTensors.h"

#include <functional>

namespace ingot::import {

/// The encoding of a format's scale bytes, and the types that scales may be stored in.
enum class ByteScale : uint8_t { E8M0, E4M3 };
std::string_view typesOf(ByteScale kind);

/// Returns the bytes of all scales. They live as long as the checkpoint. Errors: E0478: the format cannot represent a
/// scale. A scale of 0 or below the smallest representable scale is no error if `codesAreZero` returns true for its
/// group, because the values are then 0 with any scale.
Result<std::span<const std::byte>> byteScales(RawTensors &parts, const Part &scales, ByteScale kind,
                                              const std::function<bool(int64_t)> &codesAreZero);

/// Returns whether `count` codes starting at `first` are all zero, of either sign. The codes are E2M1, two per byte, or
/// E4M3.
bool areZeroE2M1(std::span<const std::byte> codes, int64_t first, int64_t count);
bool areZeroE4M3(std::span<const std::byte> codes, int64_t first, int64_t count);

} // namespace ingot::import
