//===- DummyWeightUnits.h - Pieces of a weight that is generated at load --===//
//
// Weights are generated on the host if no kernel of the engine generates them on the device
// (codegen/cuda/device/seed.cuh).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/FragmentLayout.h"
#include "runtime/schema/engine_generated.h"

#include <span>

namespace ingot::cuda {

/// A matrix is generated in units of a tile (16 rows; 32 if the program stores it in panels), a
/// vector as a whole.
class DummyWeightUnits {
public:
  DummyWeightUnits(uint64_t seed, const fb::Weight &weight);

  uint64_t units() const { return weight.size() / unit; }
  uint64_t unitBytes() const { return unit; }
  /// Generates units [first, first + out.size() / unitBytes()) on up to `threads` threads, the
  /// caller's included; values below 1 count as 1.
  void fill(uint64_t first, std::span<std::byte> out, int threads) const;

private:
  uint64_t seed;
  const fb::Weight &weight;
  uint64_t unit;
};

} // namespace ingot::cuda
