//===- RegionWalker.h - Rendering of kernel regions for a target -------------===//
//
// Prologues and epilogues of kernel ops are regions of scalar f32 operations. A value's rendering
// depends on the target: an SSA value over lanes on CPUs, a piece of CUDA C++ text on GPUs. The walk
// over a region is the same for all targets. It renders each operation once, after its operands. It
// visits either all operations in order or only those that a given value needs.
//
//   RegionWalker<std::string> walker("CUDA", render);
//   walker.set(argument, "x[i]");
//   walker(body.getTerminator()->getOperand(0))     the text of the yielded value
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace ingot {

/// Form is the type of a rendered value. A default-constructed Form means that there is no rendering.
template <class Form> class RegionWalker {
public:
  using Forms = llvm::SmallVector<Form>;
  /// Renders an operation, given the forms of its operands. Returns Form() if the target has no rendering.
  using Render = std::function<Form(mlir::Operation *op, llvm::ArrayRef<Form> operands)>;
  /// Renders a value that this walk does not compute (an argument, a value of another walk). Returns
  /// Form() if the value is to be rendered from its defining operation.
  using Leaf = std::function<Form(mlir::Value)>;

  /// `target` is the target's name in error messages.
  RegionWalker(llvm::StringRef target, Render render, Leaf leaf = {})
      : target(target), render(std::move(render)), leaf(std::move(leaf)) {}

  void set(mlir::Value value, Form form) { forms[value] = std::move(form); }
  bool knows(mlir::Value value) const { return forms.contains(value); }
  Form known(mlir::Value value) const { return forms.lookup(value); }
  size_t size() const { return forms.size(); }
  void clear() { forms.clear(); }

  /// Returns the form of `value`, after rendering everything that it depends on. Fails, with an error
  /// at the operation, if an operation has no rendering.
  mlir::FailureOr<Form> operator()(mlir::Value value) {
    if (auto found = forms.find(value); found != forms.end())
      return found->second;
    if (leaf)
      if (Form form = leaf(value); form != Form())
        return forms[value] = form;
    if (mlir::failed(walk(*value.getDefiningOp())))
      return mlir::failure();
    return forms.lookup(value);
  }

  /// Renders an operation that has one result.
  mlir::LogicalResult walk(mlir::Operation &op) {
    Forms operands;
    for (mlir::Value operand : op.getOperands()) {
      mlir::FailureOr<Form> form = (*this)(operand);
      if (mlir::failed(form))
        return mlir::failure();
      operands.push_back(*form);
    }
    Form form = render(&op, operands);
    if (form == Form())
      return op.emitOpError("has no ") << target << " rendering in the region of this op";
    forms[op.getResult(0)] = form;
    return mlir::success();
  }

  /// Renders all operations in order. Returns the forms of the yielded values.
  mlir::FailureOr<Forms> walk(mlir::Block &block) {
    for (mlir::Operation &op : block.without_terminator())
      if (mlir::failed(walk(op)))
        return mlir::failure();
    Forms yielded;
    for (mlir::Value value : block.getTerminator()->getOperands()) {
      mlir::FailureOr<Form> form = (*this)(value);
      if (mlir::failed(form))
        return mlir::failure();
      yielded.push_back(*form);
    }
    return yielded;
  }

private:
  std::string target;
  Render render;
  Leaf leaf;
  llvm::DenseMap<mlir::Value, Form> forms;
};

} // namespace ingot
