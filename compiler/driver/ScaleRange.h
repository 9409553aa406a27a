//===- ScaleRange.h - Matrices that integer codes cannot hold -------------===//
//
// int8 and int4 have an f16 scale for each group. A value beyond 127 (8) times f16's largest number has none, and where
// a whole matrix is so small that its scales lie among f16's last few numbers the codes say little. No trained model is
// like that; one whose scale was moved from one matrix to the next is, and would answer nonsense without a word.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/console/Options.h"
#include "compiler/import/Checkpoint.h"
#include "dialects/lm/LmDialect.h"

namespace ingot::lm {
class ModelOp;
}

namespace ingot::compiler {

/// A matrix that the options would give integer codes, and why it stays bf16.
struct OutOfRange {
  std::string weight; ///< its symbol
  std::string why;    ///< "its largest value, 2e+07, needs a scale of …"
};

/// Reads the matrices in question once, with so many threads.
Result<std::vector<OutOfRange>> matricesOutOfRange(lm::ModelOp model,
                                                   const import::Checkpoint &checkpoint,
                                                   const CompileOptions &options, int threads);

} // namespace ingot::compiler
