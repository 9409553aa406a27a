//===- Recipe.h - Requested weight formats -----------------------------------===//
#pragma once

#include "compiler/driver/report/Diagnostics.h"
#include "compiler/options/Options.h"

#include "llvm/Support/GlobPattern.h"

namespace ingot::lm {
class ModelOp;
}

namespace ingot::compiler {

/// Holds the globs of --recipe, and checks that --recipe and --quantize have an effect.
class Recipe {
public:
  /// Errors: E0435: a line is not a glob.
  static Result<Recipe> parse(const CompileOptions &options);

  /// Reports each rule without effect, and a --quantize without effect. Errors: E0436: the whole recipe has no effect.
  Result<void> holdAgainst(lm::ModelOp model, const CompileOptions &options,
                           const Diagnostics &diagnostics) const;

private:
  std::vector<llvm::GlobPattern> globs;
};

} // namespace ingot::compiler
