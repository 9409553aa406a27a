//===- Recipe.cpp - See Recipe.h ------------------------------------------===//
#include "compiler/driver/formats/Recipe.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

Result<Recipe> Recipe::parse(const CompileOptions &options) {
  Recipe recipe;
  for (auto [rule, place] : llvm::zip(options.recipe, options.recipePlaces)) {
    StringRef glob = StringRef(rule).rsplit(':').first;
    auto parsed = llvm::GlobPattern::create(glob);
    if (!parsed)
      return Error{ExitCode::File, "E0435", place + ": '" + glob.str() + "' is not a valid glob",
                   llvm::toString(parsed.takeError()),
                   "[ ] lists alternatives for one character: blk.[01].ffn_down"};
    recipe.globs.push_back(std::move(*parsed));
  }
  return recipe;
}

Result<void> Recipe::holdAgainst(lm::ModelOp model, const CompileOptions &options,
                                 const Diagnostics &diagnostics) const {
  bool floats = false, any = globs.empty();
  std::vector<char> used(globs.size());
  for (lm::WeightOp weight : model.getBody().getOps<lm::WeightOp>()) {
    if (weight.getType().isVectors())
      continue;
    floats |= weight.getType().numeric().isFloat();
    for (auto [glob, matches] : llvm::zip(globs, used))
      matches |= glob.match(weight.getSymName());
  }
  for (auto [matches, place] : llvm::zip(used, options.recipePlaces)) {
    any |= matches;
    if (!matches)
      diagnostics.warn(place + ": it matches no weight");
  }
  if (!any)
    return Error{
        ExitCode::File, "E0436", "the formats of the recipe match no weight: " + options.recipeFile,
        "globs match the names that --emit lm shows, without .weight: token_embd, blk.0.ffn_down",
        "correct the globs of formats, or drop them"};
  if (!options.quantize.empty() && !floats)
    diagnostics.warn("--quantize has no effect: no matrix of " + options.model +
                     " has floating-point values; drop it");
  return {};
}
