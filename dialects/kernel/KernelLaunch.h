//===- KernelLaunch.h - Words of the launch interface ----------------------===//
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace ingot::kernel {

/// Channels of a work item of kernel.causal_conv; device/causal_conv.cuh has the same.
constexpr int64_t kConvChannels = 128;

/// How many work items a launch has: base * factor (runtime/abi/KernelAbi.h).
struct WorkItems {
  enum Base { Constant, Tokens, Rows, Tiles, Spans } base;
  int64_t factor;
  bool cyclic; ///< items cost unequally: threads take every n-th
};

/// What a kernel does with what is passed for an operand.
struct OperandEffect {
  bool reads = false, writes = false;
};

/// How a target runs a kernel, or why it does not: what passes ask before they keep one, and generators begin with.
struct KernelShape {
  std::string
      refused; ///< the reason why there is no code for it, as a verb of the anchor; empty: there is
  /// Tokens (or logits rows) of a step up to which it is worth its while, as one launch.
  int64_t mostUnits = std::numeric_limits<int64_t>::max();
  int64_t workspaceBytes = 0; ///< memory that it wants beside its operands
};

} // namespace ingot::kernel
