//===- Listing.h - IR listing of an engine's kernels ------------------------===//
//
// The listing is the engine's segment of kind Ir. Only `ingot inspect --html` reads it; execution does not. It is
// JSON:
//
//   {"programs":[{                          in the order of the table
//     "kernels":[{"name","ir",              kernel.func, as --emit kernel prints it
//                 "effects":["r","w","rw"]  the kernel's effect on each operand
//               }],
//     "ops":["%q = lm.linear …"],           regions of lm, each once
//     "launches":[[[0,1,-1]]]               per section, case and launch: the index in `ops`; -1: not known
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
  /// Adds the body of one of the engine's programs, with its kernels in table order.
  void add(mlir::Region &program, llvm::ArrayRef<kernel::FuncOp> kernels);
  SegmentSource segment() const;

private:
  std::string programs; ///< JSON objects
};

} // namespace ingot::compiler
