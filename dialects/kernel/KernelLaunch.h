//===- KernelLaunch.h - Types of the launch interface ----------------------===//
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace ingot::kernel {

/// Channels of a work item of kernel.causal_conv; device/causal_conv.cuh has the same constant.
constexpr int64_t kConvChannels = 128;

/// The number of work items of a launch: base * factor (runtime/abi/KernelAbi.h).
struct WorkItems {
  enum Base { Constant, Tokens, Rows, Tiles, Spans } base;
  int64_t factor;
  bool cyclic; ///< items have unequal costs, so each of n threads takes every n-th item
};

/// Describes how a kernel uses the argument for an operand.
struct OperandEffect {
  bool reads = false, writes = false;
};

/// Describes how a target runs a kernel, or why it cannot. Passes query it before they keep a kernel, and generators
/// start from it.
struct KernelShape {
  std::string
      refused; ///< why there is no code for the kernel, as a verb phrase about the anchor; empty if
               ///< there is
  /// The largest number of tokens (or logits rows) of a step for which one launch pays off.
  int64_t mostUnits = std::numeric_limits<int64_t>::max();
  int64_t workspaceBytes = 0; ///< memory that the kernel needs in addition to its operands
};

} // namespace ingot::kernel
