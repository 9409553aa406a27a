//===- Remarks.h - Remarks on fusion decisions ------------------------------===//
//
//   --remarks passed|missed|all      lines on stderr
//   --remarks-file F.yaml            all remarks, for LLVM's tools (opt-viewer); F.json: one object per line
//
// A remark names the layer kind or section, the pattern of the fusion, the op, and the reason.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/options/Options.h"
#include "runtime/error/Error.h"

#include "mlir/IR/MLIRContext.h"

namespace ingot::compiler {

/// Enables remarks for the life of the context. Errors: E0489: the file cannot be written.
Result<void> enableRemarks(const CompileOptions &options, mlir::MLIRContext &context);

} // namespace ingot::compiler
