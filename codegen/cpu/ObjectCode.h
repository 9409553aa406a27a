//===- ObjectCode.h - From generated MLIR to machine code -----------------===//
#pragma once

#include "codegen/cpu/Isa.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"

#include <string>
#include <vector>

namespace ingot::codegen::cpu {

enum class CodeForm { LlvmIr, Assembly, Object };

/// Lowers `module` in place to the LLVM dialect, optimises it and emits it for `isa`. Only one
/// thread may use the module's context. Stages are timed as parts of `timing`.
mlir::FailureOr<std::string> emitCode(mlir::ModuleOp module, const Isa &isa, CodeForm form,
                                      mlir::TimingScope &timing);

/// Links objects, in order, into one shared object that has no undefined symbols and exports
/// every symbol. On failure `problem` holds the linker's messages. One link runs at a time.
mlir::FailureOr<std::vector<char>> linkShared(llvm::ArrayRef<std::string> objects,
                                              std::string &problem);

} // namespace ingot::codegen::cpu
