//===- GpuOptions.h - Options for how an executor runs work on a GPU --------===//
//
// Options that a benchmark run may vary on a device: none of them changes a bit of any result.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ingot::cuda {

/// Specifies how a kernel waits for its predecessor, in graphs and in the queue.
enum class GpuEdges : uint8_t {
  Programmatic, ///< its prologue overlaps the predecessor's end, if both support it
  Full,         ///< it starts when the predecessor has ended
};

/// The driver picks each kernel's carveout from the kernel's own usage.
constexpr int kDriversCarveout = -1;

struct GpuOptions {
  GpuEdges edges = GpuEdges::Programmatic;
  /// Percentage of a multiprocessor's on-chip memory that every kernel requests as shared memory;
  /// the rest is its L1. All kernels use the same value: kernels of a step use 5 to 224 KB, so the
  /// driver's own choices differ, and a multiprocessor must drain before the carveout can change.
  /// Blocks of the next kernel could then not start alongside blocks of the previous kernel, which is the whole purpose
  /// of programmatic edges. 100 leaves 28 KB of L1 on sm_90; wgmma needs that much shared memory anyway.
  int carveout = 100;
  /// Decode steps run as graphs; if false, launch by launch, as prompts do.
  bool graphs = true;
};

} // namespace ingot::cuda
