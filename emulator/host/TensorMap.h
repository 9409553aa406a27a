//===- TensorMap.h - The emulator's format of a tensor map ------------------===//
#pragma once

#include "emulator/host/Emulator.h"

namespace ingot::emulator {

/// The contents that encodeTensorMap writes to the opaque 128 bytes.
struct TensorMapImage {
  static constexpr uint64_t kMagic = 0x70616d726f736e74; // "tnsormap"
  uint64_t magic;
  TensorMatrix matrix;
  uint8_t reserved[128 - sizeof(uint64_t) - sizeof(TensorMatrix)];

  uint32_t boxRowBytes() const { return matrix.boxColumns * matrix.elementBytes; }
  uint32_t boxBytes() const { return boxRowBytes() * matrix.boxRows; }
};
static_assert(sizeof(TensorMapImage) == 128);

/// Returns why cuTensorMapEncodeTiled would refuse the matrix, or "".
std::string tensorMapProblem(const TensorMatrix &matrix);

} // namespace ingot::emulator
