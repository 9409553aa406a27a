//===- Disassembly.h - Machine code of an engine, for people ----------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace ingot::cpu {

struct DisassembledFunction {
  std::string name, text; ///< an instruction a line, jumps to labels of their own: `.3`
};

/// The functions of a shared object that linkShared made, in the order of their addresses; every level's instructions
/// are known. An error says why it is no such object.
llvm::Expected<std::vector<DisassembledFunction>> disassemble(llvm::StringRef object);

} // namespace ingot::cpu
