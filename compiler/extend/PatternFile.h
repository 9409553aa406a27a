//===- PatternFile.h - Rewrites that users write --------------------------===//
//
//   rules.pdll ──mlir-pdll (PdllTool.h)──▶ PDL IR ─┐
//   rules.pdl.mlir ────────────────────────────────┴─check──▶ patterns ──lm-apply-patterns──▶
//   lm.model
//
// MLIR takes PDL at its word: what it cannot run ends the process, or is undefined once
// assertions are off, and a misspelt op just never matches. So a file is checked whole
// before anything runs, and a mistake found there is an error that names its line. What only
// shows when the patterns run (E0427, E0428) names the file.
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/patterns/Natives.h"
#include "runtime/error/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace ingot::extend {

/// The argument of the pass, "lm-apply-patterns".
llvm::StringRef applyPatternsName();

/// What a file holds.
struct Patterns {
  mlir::FrozenRewritePatternSet rules;
  /// Of those that rewrite (others say why something was missed): their names, or places where they have none.
  std::vector<std::string> names;
};

/// The patterns of a .pdll, .pdl.mlir or .mlir file. Errors: E0421 it cannot be read, E0422 and
/// E0423 of PdllTool.h, E0424 it is no PDL IR or has no patterns, E0425 it calls a function that
/// there is none of, E0426 it names an op that there is none of, E0429 an attribute that its op has not, E0430
/// mlir-pdll crashed or took too long.
Result<Patterns> readPatterns(mlir::MLIRContext &context, const std::string &path);

/// The pattern of such a set whose rewrite ran last in this thread: its name, or its place where it has none.
llvm::StringRef lastPattern();

/// The pass lm-apply-patterns over patterns that were read from `path`; `whom` its questions of targets ask.
std::unique_ptr<mlir::Pass> applyPatterns(const std::string &path, Patterns patterns,
                                          const patterns::CompiledFor &whom);

/// The same over kernels and launches of a device: the pass kernel-apply-patterns.
llvm::StringRef applyKernelPatternsName();
std::unique_ptr<mlir::Pass> applyKernelPatterns(const std::string &path, Patterns patterns,
                                                llvm::StringRef device);

/// The file that a pass of either kind was given.
std::string patternsFile(mlir::Pass *pass);

/// Which rewrite of the pass (an lm-apply-patterns) is the first after which a program is no longer `right`; `before` is
/// the module that the pass got. "the pattern SumIsProduct rewrote lm.add 'ffn_residual' of @layer (rewrite 1 of 2)";
/// empty where all of them leave a right one.
std::string firstWrongRewrite(mlir::Pass *pass, mlir::ModuleOp before,
                              llvm::function_ref<bool(mlir::ModuleOp)> right);

} // namespace ingot::extend
