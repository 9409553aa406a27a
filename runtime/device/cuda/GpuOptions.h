//===- GpuOptions.h - How an executor puts work on a GPU --------------------===//
//
// What a run may compare on a device: none of it changes a bit of any result.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ingot::cuda {

/// How a kernel waits for the one before it, in graphs and on the queue.
enum class GpuEdges : uint8_t {
  Programmatic, ///< its prologue overlaps the other's end, where both know how
  Full,         ///< it starts when the other has ended
};

/// The driver picks each kernel's carveout by what the kernel uses.
constexpr int kDriversCarveout = -1;

struct GpuOptions {
  GpuEdges edges = GpuEdges::Programmatic;
  /// Percent of a multiprocessor's fast memory that every kernel asks to have as shared memory;
  /// what is left is its L1. One value for all: kernels of a step take 5 to 224 KB, so the driver's
  /// own picks differ, and a multiprocessor must run empty before it can change. Blocks of the next
  /// kernel then could not start beside those of the one before, which is all that programmatic
  /// edges are for. 100 leaves 28 KB of L1 on sm_90; wgmma needs that much anyway.
  int carveout = 100;
  /// Decode steps run as graphs; false: launch by launch, as prompts do.
  bool graphs = true;
};

} // namespace ingot::cuda
