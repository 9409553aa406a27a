//===- ByteScales.h - Eight-bit scales, however they are stored ---------------===//
//
// MXFP4 and MXFP8 have a power of two per group (E8M0), NVFP4 an E4M3 number. Writers store them in that
// type, as bytes, or as floats of the same value.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/parts/RawTensors.h"

#include <functional>

namespace ingot::import {

/// The encoding of a format's scale bytes, and the types that scales may be stored in.
enum class ByteScale : uint8_t { E8M0, E4M3 };
std::string_view typesOf(ByteScale kind);

/// The bytes of all scales, which live as long as the checkpoint. A scale that the format cannot hold is
/// E0478, unless it is 0 or below the smallest representable one and `codesAreZero` holds for its group: the
/// products are then 0 in any case.
Result<std::span<const std::byte>> byteScales(RawTensors &parts, const Part &scales, ByteScale kind,
                                              const std::function<bool(int64_t)> &codesAreZero);

/// Whether `count` codes starting at `first` are all zero, of either sign: E2M1, two per byte, or
/// E4M3.
bool areZeroE2M1(std::span<const std::byte> codes, int64_t first, int64_t count);
bool areZeroE4M3(std::span<const std::byte> codes, int64_t first, int64_t count);

} // namespace ingot::import
