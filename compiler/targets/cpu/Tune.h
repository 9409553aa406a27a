//===- Tune.h - Schedules measured on this machine ------------------------===//
//
// For every distinct matmul of a program (TuningRows.h: shapeOf), the neighbours of the model's schedule,
// which differ from it in one parameter, are compiled and called in turn at 1, 8, 32 and 512 tokens:
//
//   round:  for T:  for candidate:  evict the caches, call, thread CPU time      → medians
//
// The winners for each parameter are combined into one challenger, which then competes with the model's
// choice alone. A row is written if the challenger wins by 2 % in the mean over T and loses by 3 % nowhere:
// smaller differences are noise. One thread calls a part of the panels (evenly spaced) of generated weights;
// results are scaled to all panels.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/console/Options.h"
#include "compiler/console/Progress.h"
#include "dialects/kernel/KernelDialect.h"

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::compiler {

/// Measures for about options.tuneSeconds and writes the rows to options.output, or stdout. Errors: E0446 if
/// this machine cannot run the level, E0447 if code cannot be loaded, E0390 … E0396 for the file.
Result<void> tune(llvm::ArrayRef<kernel::FuncOp> kernels, const CompileOptions &options,
                  int threads, Progress &progress);

} // namespace ingot::compiler
