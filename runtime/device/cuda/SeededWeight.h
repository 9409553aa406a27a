//===- SeededWeight.h - Pieces of a weight that is made at load --------------===//
//
// On the host: what no kernel of the engine makes on the device (codegen/cuda/device/seed.cuh).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/formats/FragmentLayout.h"
#include "runtime/schema/engine_generated.h"

#include <span>

namespace ingot::cuda {

/// A matrix is made in units of a tile (16 rows; 32 where the program keeps it in panels), a
/// vector whole.
class SeededWeight {
public:
  SeededWeight(uint64_t seed, const fb::Weight &weight);

  uint64_t units() const { return weight.size() / unit; }
  uint64_t unitBytes() const { return unit; }
  /// Makes units [first, first + out.size() / unitBytes()) on up to `threads` threads.
  void fill(uint64_t first, std::span<std::byte> out, int threads) const;

private:
  uint64_t seed;
  const fb::Weight &weight;
  uint64_t unit;
};

} // namespace ingot::cuda
