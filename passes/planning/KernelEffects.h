//===- KernelEffects.h - What a kernel reads and writes -------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

namespace ingot::kernel {
class FuncOp;
}

namespace ingot {

struct OperandEffect {
  bool reads = false, writes = false;
};

/// Per operand of the kernel.
llvm::SmallVector<OperandEffect> operandEffects(kernel::FuncOp kernel);

} // namespace ingot
