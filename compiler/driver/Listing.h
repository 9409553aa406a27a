//===- Listing.h - What an engine's kernels compute, as text ----------------===//
//
// The engine's segment of kind Ir: nothing that runs reads it, `ingot inspect --html` shows it. JSON:
//
//   {"programs":[{                          in the order of the table
//     "kernels":[{"name","ir",              kernel.func, as --emit kernel prints it
//                 "effects":["r","w","rw"]  what it does with each operand
//               }],
//     "ops":["%q = lm.linear …"],           regions of lm, each once
//     "launches":[[[0,1,-1]]]               of each section, case and launch: which of `ops` it does; -1: none that is known
//   }]}
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/engine/EngineWriter.h"
#include "dialects/kernel/KernelDialect.h"

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::compiler {

class Listing {
public:
  /// The body of a program of the engine, with its kernels as its table has them.
  void add(mlir::Region &program, llvm::ArrayRef<kernel::FuncOp> kernels);
  SegmentSource segment() const;

private:
  std::string programs; ///< JSON objects
};

} // namespace ingot::compiler
