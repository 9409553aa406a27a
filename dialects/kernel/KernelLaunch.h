//===- KernelLaunch.h - Words of the launch interface ----------------------===//
#pragma once

#include <cstdint>

namespace ingot::kernel {

/// Channels of a work item of kernel.causal_conv; device/causal_conv.cuh has the same.
constexpr int64_t kConvChannels = 128;

/// How many work items a launch has: base * factor (runtime/device/cpu/KernelAbi.h).
struct WorkItems {
  enum Base { Constant, Tokens, Rows, Tiles, Spans } base;
  int64_t factor;
  bool cyclic; ///< items cost unequally: threads take every n-th
};

} // namespace ingot::kernel
