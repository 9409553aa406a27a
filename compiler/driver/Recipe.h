//===- Recipe.h - Which formats the user asked weights to have ---------------===//
#pragma once

#include "compiler/console/Options.h"
#include "compiler/driver/Diagnostics.h"

#include "llvm/Support/GlobPattern.h"

namespace ingot::lm {
class ModelOp;
}

namespace ingot::compiler {

/// The globs of --recipe, and what it and --quantize find to do.
class Recipe {
public:
  /// E0435: a line is no glob.
  static Result<Recipe> parse(const CompileOptions &options);

  /// Says which rules, and which --quantize, have nothing to do; E0436 where the whole recipe has not.
  Result<void> holdAgainst(lm::ModelOp model, const CompileOptions &options,
                           const Diagnostics &diagnostics) const;

private:
  std::vector<llvm::GlobPattern> globs;
};

} // namespace ingot::compiler
