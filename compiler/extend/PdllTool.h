//===- PdllTool.h - PDLL to PDL IR, by MLIR's own tool --------------------===//
//
// MLIR exports no PDLL parser, so mlir-pdll runs as a child: no shell, a limit on its time,
// its output in temporary files. It sees these includes:
//
//   the file's own folder
//   <libingot-compiler.so>/../../share/ingot     dialects/lm/**/*.td, passes/patterns/*.pdll
//   <mlir-pdll>/../../include                     mlir/IR/*.td
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

namespace ingot::extend {

/// The PDL IR of a .pdll file, as text. Errors: E0422 there is no mlir-pdll or it cannot be run,
/// E0423 it refuses the file, E0430 it crashes or takes too long.
Result<std::string> translatePdll(const std::string &path);

} // namespace ingot::extend
