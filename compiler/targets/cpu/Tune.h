//===- Tune.h - Schedules measured on this machine ------------------------===//
//
// For every distinct matmul of a program (TuningRows.h: shapeOf) the neighbours of the model's schedule,
// which differ from it in one thing, are compiled and called in turn at 1, 8, 32 and 512 tokens:
//
//   round:  for T:  for candidate:  evict the caches, call, thread CPU time      → medians
//
// What is better in each thing makes one challenger, which then meets the model's choice alone. A row
// is written if it wins by 2 % in the mean over T and loses nowhere by 3: less is noise. One thread
// calls a part of the panels (evenly spaced) of weights made from a seed; figures are scaled to all.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/console/Options.h"
#include "compiler/console/Progress.h"
#include "dialects/kernel/KernelDialect.h"

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::compiler {

/// Measures for about options.tuneSeconds and writes the rows to options.output, or stdout. Errors: E0446
/// this machine cannot run the level, E0447 code cannot be loaded, E0390 … E0396 the file.
Result<void> tune(llvm::ArrayRef<kernel::FuncOp> kernels, const CompileOptions &options,
                  int threads, Progress &progress);

} // namespace ingot::compiler
