//===- RegionWalker.h - Regions of kernels, rendered for a target ------------===//
//
// Prologues and epilogues of kernel ops are regions of scalar f32 operations. What a value becomes
// differs by target (an SSA value over lanes on CPUs, a text of CUDA C++ on GPUs); how a region is
// walked does not: each operation once, operands before their users, either all in their order or
// those that a value needs.
//
//   RegionWalker<std::string> walker("CUDA", render);
//   walker.set(argument, "x[i]");
//   walker(body.getTerminator()->getOperand(0))     the text of what it yields
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace ingot {

/// Form: what a value becomes. A default-constructed one says that there is none.
template <class Form> class RegionWalker {
public:
  using Forms = llvm::SmallVector<Form>;
  /// The form of an operation over those of its operands; none if the target has no rendering.
  using Render = std::function<Form(mlir::Operation *op, llvm::ArrayRef<Form> operands)>;
  /// The form of a value that is not computed by this walk (an argument, a value of another walk);
  /// none: it is its operation's.
  using Leaf = std::function<Form(mlir::Value)>;

  /// `target` names it in errors.
  RegionWalker(llvm::StringRef target, Render render, Leaf leaf = {})
      : target(target), render(std::move(render)), leaf(std::move(leaf)) {}

  void set(mlir::Value value, Form form) { forms[value] = std::move(form); }
  bool knows(mlir::Value value) const { return forms.contains(value); }
  Form known(mlir::Value value) const { return forms.lookup(value); }
  size_t size() const { return forms.size(); }
  void clear() { forms.clear(); }

  /// The form of `value`, with all that it needs. Fails, with an error at the operation, if one has
  /// no rendering.
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

  /// Renders an operation of one result.
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

  /// All operations in order; what the block yields.
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
