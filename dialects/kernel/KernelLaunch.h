//===- KernelLaunch.h - Words of the launch interface ----------------------===//
#pragma once

#include <cstdint>

namespace ingot::kernel {

/// How many work items a launch has: base * factor (runtime/device/cpu/KernelAbi.h).
struct WorkItems {
  enum Base { Constant, Tokens, Rows, Tiles, Spans } base;
  int64_t factor;
  bool cyclic; ///< items cost unequally: threads take every n-th
};

} // namespace ingot::kernel
