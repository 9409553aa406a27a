//===- MiscompileReducer.h - Reproducers for passes that change results ---===//
//
// A reproducer is a pair of files for ingot-opt: the program before the pass and its result. Both are reduced as far
// as they still show the error. Before lowering, this leaves one layer, if one is enough, and the weights that it
// names. After lowering, it leaves the launches without which the two plans would compute the same.
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace ingot::compiler {

/// Returns the error code for a pass over lm that changes what a model computes: E0428 for patterns, E0432 for a pass
/// in `users`, else E0491.
std::string codeOfChange(llvm::StringRef pass, const llvm::StringSet<> &users);

/// Writes ingot-<code>-before.mlir and ingot-<code>-after.mlir to the current folder, replacing the files of an earlier
/// error. `pass` is a pass over lm.model in the form of --pass-pipeline, and `command` is ingot-opt with its plugins.
/// Returns a text with the place of the files and the command that reproduces the error. The text is empty if the files
/// cannot be written or the pass by itself is correct.
std::string reduceMiscompile(const std::string &code, mlir::ModuleOp before,
                             const std::string &pass, const std::string &command);

/// Does the same as reduceMiscompile, for a pass over the plan (reduced to the fewest launches) or for lowering itself
/// (its lm input is reduced to one layer if one is enough). `pipeline` is over builtin.module. If the error cannot be
/// reproduced, both files are written unreduced.
std::string reduceWrongPlan(const std::string &code, mlir::ModuleOp before, mlir::ModuleOp after,
                            const std::string &pipeline, const std::string &command);

/// Writes only the two files, for a case in which no command makes the second from the first. Returns an
/// empty string if they cannot be written.
std::string leaveBoth(const std::string &code, mlir::ModuleOp before, mlir::ModuleOp after);

/// Writes ingot-<code>.mlir: the plan with the steps of these layers, the steps outside the layers, and the
/// kernels that they launch. Returns its name; empty if it cannot be written.
std::string leavePlanOfLayers(const std::string &code, mlir::ModuleOp plan,
                              llvm::ArrayRef<int64_t> layers);

} // namespace ingot::compiler
