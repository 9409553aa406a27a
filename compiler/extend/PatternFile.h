//===- PatternFile.h - Rewrite patterns of the user -----------------------===//
//
//   rules.pdll ──mlir-pdll (PdllTool.h)──▶ PDL IR ─┐
//   rules.pdl.mlir ────────────────────────────────┴─check──▶ patterns ──lm-apply-patterns──▶
//   lm.model
//
// MLIR trusts PDL: a pattern that it cannot run ends the process, or is undefined behaviour without
// assertions, and a misspelt op simply never matches. A file is therefore checked completely before anything
// runs, and an error found then names its line. An error that shows only when the patterns run (E0427, E0428)
// names the file.
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/patterns/Natives.h"
#include "runtime/abi/DeviceKind.h"
#include "runtime/error/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ingot::extend {

/// Returns the argument of the pass, "lm-apply-patterns".
llvm::StringRef applyPatternsName();

/// The patterns of one file.
struct Patterns {
  std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>> module; ///< contains the pdl.pattern ops
  /// The names of the patterns that rewrite (others only explain a missed match), or their places if they
  /// have no name.
  std::vector<std::string> names;
};

/// Reads the patterns of a .pdll, .pdl.mlir or .mlir file. Errors: E0421: it cannot be read; E0422 and E0423
/// of PdllTool.h; E0424: it is not PDL IR or has no patterns; E0425: it calls an unknown function; E0426: it
/// names an unknown op; E0429: it names an attribute that its op does not have; E0430: mlir-pdll crashed or
/// took too long.
Result<Patterns> readPatterns(mlir::MLIRContext &context, const std::string &path);

/// Returns the pass lm-apply-patterns for patterns that were read from `path`. `whom` describes the targets that the
/// patterns can query.
std::unique_ptr<mlir::Pass> applyPatterns(const std::string &path, Patterns patterns,
                                          const patterns::CompiledFor &whom);

/// Returns the name of the pass kernel-apply-patterns, which applies such patterns to the kernels and launches of a
/// device.
llvm::StringRef applyKernelPatternsName();
std::unique_ptr<mlir::Pass> applyKernelPatterns(const std::string &path, Patterns patterns,
                                                DeviceKind device);

/// Returns the file of a pass of either kind.
std::string patternsFile(mlir::Pass *pass);

/// Describes the first rewrite of the pass (an lm-apply-patterns) after which the program is no longer
/// `right`: "the pattern SumIsProduct rewrote lm.add 'ffn_residual' of @layer (rewrite 1 of 2)". Returns an
/// empty string if the program is right after all of them. `before` is the input module of the pass.
std::string firstWrongRewrite(mlir::Pass *pass, mlir::ModuleOp before,
                              llvm::function_ref<bool(mlir::ModuleOp)> right);

} // namespace ingot::extend
