//===- WrongValue.h - What is left of a pass that computes something else ----===//
//
// The program before the pass and what the pass made of it, as files that ingot-opt reads, as small as still shows the
// mistake: one layer, if one is enough, with the weights that it names; behind the lowering, the launches without which the
// two plans are the same.
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace ingot::compiler {

/// Of a pass over lm that changes what a model computes: E0428 of patterns, E0432 of one of `users`, else E0491.
std::string codeOfChange(llvm::StringRef pass, const llvm::StringSet<> &users);

/// Writes ingot-<code>-before.mlir and ingot-<code>-after.mlir to this folder; those of an earlier mistake are
/// overwritten. `pass` is a pass over lm.model as --pass-pipeline takes it, and `command` is ingot-opt with its plugins.
/// Says where they are, and what finds the mistake again; empty where they cannot be written, or the pass alone is right.
std::string leaveWrongValue(const std::string &code, mlir::ModuleOp before, const std::string &pass,
                            const std::string &command);

/// The same of a pass behind lowering, with the fewest launches, or of lowering itself, whose program before is in lm and
/// keeps one layer if that is enough. `pipeline` is over builtin.module. What is not found again is left whole.
std::string leaveWrongPlan(const std::string &code, mlir::ModuleOp before, mlir::ModuleOp after,
                           const std::string &pipeline, const std::string &command);

/// Writes the two files alone, where no command makes the second of the first; empty where they cannot be written.
std::string leaveBoth(const std::string &code, mlir::ModuleOp before, mlir::ModuleOp after);

/// Writes ingot-<code>.mlir: the plan with the steps of these layers and those around them, and the kernels that they
/// launch. Says its name; empty where it cannot be written.
std::string leavePlanOfLayers(const std::string &code, mlir::ModuleOp plan,
                              llvm::ArrayRef<int64_t> layers);

} // namespace ingot::compiler
