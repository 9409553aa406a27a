//===- ScaleRange.h - Matrices that integer codes cannot hold -------------===//
//
// int8 and int4 have an f16 scale for each group. A value beyond 127 (int4: 8) times the largest f16 has no valid
// scale. If a whole matrix is so small that its scales are among the smallest f16 values, its codes have little
// precision. No model is trained to such values. But a tool can produce them by moving a scale from one matrix to the
// next, and the quantised model would then silently give nonsense.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"
#include "compiler/options/Options.h"
#include "dialects/lm/LmDialect.h"

namespace ingot::lm {
class ModelOp;
}

namespace ingot::compiler {

/// A matrix for which the options request integer codes, and the reason why it stays bf16.
struct OutOfRange {
  std::string weight; ///< its symbol
  std::string why;    ///< "its largest value, 2e+07, needs a scale of …"
};

/// Reads the candidate matrices once, with `threads` threads, and returns those out of range.
Result<std::vector<OutOfRange>> matricesOutOfRange(lm::ModelOp model,
                                                   const import::Checkpoint &checkpoint,
                                                   const CompileOptions &options, int threads);

} // namespace ingot::compiler
