//===- LmInterfaces.h - What ops of lm and of plugins share ---------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

namespace ingot::lm {

/// One token's part of an op on rows, for RowOpInterface::evaluateRow.
struct RowOfOp {
  /// For each operand: the token's row, or the whole vector; empty for a batch or a state.
  llvm::SmallVector<llvm::ArrayRef<float>> operands;
  /// The state of the token's sequence, updated in place; empty if there is none.
  llvm::MutableArrayRef<float> state;
  int64_t position; ///< of the token in its sequence
  /// For each result that is rows: the token's row, to be written.
  llvm::SmallVector<llvm::MutableArrayRef<float>> results;
};

/// Returns the name of the attribute that holds the code of a region's own kernel for that target
/// (compiler/extend/KernelFile.h).
inline std::string kernelAttrOf(llvm::StringRef target) { return ("lm.kernel." + target).str(); }

} // namespace ingot::lm

#include "dialects/lm/LmInterfaces.h.inc"
