//===- Natives.h - What patterns can call ---------------------------------===//
//
// PDL has no arithmetic. The few functions here fill that gap; passes/patterns/Natives.pdll
// declares them for PDLL. MLIR does not check calls (an unknown name or a wrong number of
// arguments is undefined behaviour), so signatureOf and nativeSignatures are compared first.
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/PatternMatch.h"

#include <string>

namespace ingot::extend {

/// "Product(attribute, attribute) -> attribute" of each constraint and rewrite there is.
llvm::ArrayRef<llvm::StringLiteral> nativeSignatures();

/// What a pdl.apply_native_constraint or _rewrite calls, in the same form.
std::string signatureOf(mlir::Operation *call);

void registerNatives(mlir::PDLPatternModule &patterns);

} // namespace ingot::extend
