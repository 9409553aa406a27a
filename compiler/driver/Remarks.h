//===- Remarks.h - What was fused, what was not, and why --------------------===//
//
//   --remarks passed|missed|all      lines on stderr
//   --remarks-file F.yaml            all of them, as LLVM's tools read them (opt-viewer); F.json: an object a line
//
// A remark names the layer kind or section, the pattern of the fusion, the op, and the reason.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/console/Options.h"
#include "runtime/error/Error.h"

#include "mlir/IR/MLIRContext.h"

namespace ingot::compiler {

/// For as long as the context lives. E0489: the file cannot be written.
Result<void> enableRemarks(const CompileOptions &options, mlir::MLIRContext &context);

} // namespace ingot::compiler
