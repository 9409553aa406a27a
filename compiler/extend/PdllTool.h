//===- PdllTool.h - PDLL to PDL IR, with mlir-pdll ------------------------===//
//
// MLIR exports no PDLL parser, so mlir-pdll runs as a child process, without a shell, with a
// time limit and with its output in temporary files. It has these include folders:
//
//   the file's own folder
//   <libingot-compiler.so>/../../share/ingot     dialects/lm/**/*.td, passes/patterns/*.pdll
//   <mlir-pdll>/../../include                     mlir/IR/*.td
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

namespace ingot::extend {

/// Returns the PDL IR of a .pdll file, as text. Errors: E0422: mlir-pdll is missing or cannot be
/// run; E0423: it refuses the file; E0430: it crashes or takes too long.
Result<std::string> translatePdll(const std::string &path);

} // namespace ingot::extend
