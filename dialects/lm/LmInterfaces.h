//===- LmInterfaces.h - What ops of lm, and of plugins, have in common ----===//
#pragma once

#include "dialects/lm/LmDialect.h"

namespace ingot::lm {

/// One token's part of an op that works on rows, for who computes it (RowOpInterface::evaluateRow).
struct RowOfOp {
  /// Of each operand: the token's row, or the whole vector; nothing of a batch and of a state.
  llvm::SmallVector<llvm::ArrayRef<float>> operands;
  /// The state of the token's sequence, which is changed in place; nothing, where there is none.
  llvm::MutableArrayRef<float> state;
  int64_t position; ///< of the token in its sequence
  /// Of each result that is rows.
  llvm::SmallVector<llvm::MutableArrayRef<float>> results;
};

/// The attribute of a region with a kernel of its own, for that target: its code (compiler/extend/KernelFile.h).
inline std::string kernelAttrOf(llvm::StringRef target) { return ("lm.kernel." + target).str(); }

} // namespace ingot::lm

#include "dialects/lm/LmInterfaces.h.inc"
