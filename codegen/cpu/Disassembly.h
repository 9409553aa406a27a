//===- Disassembly.h - Disassembler of an engine's machine code -------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace ingot::codegen::cpu {

struct DisassembledFunction {
  std::string name, text; ///< one instruction per line; local jump labels: `.3`
};

/// Returns the functions of a shared object that linkShared made, in the order of their addresses. Decodes the
/// instructions of every ISA level. Fails if `object` is not such a shared object.
llvm::Expected<std::vector<DisassembledFunction>> disassemble(llvm::StringRef object);

} // namespace ingot::codegen::cpu
