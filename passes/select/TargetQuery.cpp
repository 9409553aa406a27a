//===- TargetQuery.cpp - See TargetQuery.h ---------------------------------===//
//
//   a copy of the layer kind or entry ─▶ the ops as one region ─▶ encodings ─▶ its kernel ─▶ layouts ─▶ Target::shapeOf
//
// The kernel is selected by the same code as the kernels of whole models, so the answer is valid for the model.
//===----------------------------------------------------------------------===//
#include "passes/select/TargetQuery.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "passes/lowering/Outline.h"
#include "passes/select/KernelSelection.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace ingot;

static constexpr StringLiteral kAsked = "asked aside";

/// Fuses the copies of the ops, including those in regions, into the region kAsked.
static void fuseCopies(const OpGroup &group, const IRMapping &copied) {
  OpGroup ops;
  IRRewriter rewriter(group.front()->getContext());
  for (Operation *op : group) {
    Operation *copy = copied.lookup(op);
    auto fused = dyn_cast<lm::FusedOp>(copy);
    if (!fused) {
      ops.insert(copy);
      continue;
    }
    ops.insert_range(inlineRegion(rewriter, fused));
  }
  wrap(ops, kAsked);
}

static lm::FusedOp askedIn(lm::ModelOp model) {
  lm::FusedOp asked;
  model.walk([&](lm::FusedOp fused) {
    if (fused.getPattern() == kAsked)
      asked = fused;
  });
  return asked;
}

/// Chooses the layouts of the kernel's matrices as if it were their only consumer.
static void chooseLayouts(kernel::FuncOp fn, const Target &target) {
  Block &body = fn.getBody().front();
  for (BlockArgument argument : body.getArguments())
    if (auto weight = dyn_cast<lm::WeightType>(argument.getType()); weight && !weight.isVector())
      argument.setType(
          weight.in(target.weightLayout(weight, llvm::to_vector(argument.getUsers()))));
  fn.setFunctionType(FunctionType::get(fn.getContext(), body.getArgumentTypes(), {}));
}

std::string ingot::refusalOf(const OpGroup &group, const Target &target, bool exact, bool fp8Rows) {
  auto model = group.front()->getParentOfType<lm::ModelOp>();
  Operation *function = group.front();
  while (function && function->getParentOp() != model)
    function = function->getParentOp();
  if (!model || !function)
    return "its ops are not in a layer";
  std::string why;
  ScopedDiagnosticHandler handler(model.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && why.empty())
      why = diagnostic.str();
    return success();
  });

  OwningOpRef<ModuleOp> aside(ModuleOp::create(model.getLoc()));
  ImplicitLocOpBuilder b = ImplicitLocOpBuilder::atBlockEnd(model.getLoc(), aside->getBody());
  auto copy = cast<lm::ModelOp>(b.cloneWithoutRegions(*model));
  b.setInsertionPointToStart(&copy.getBody().emplaceBlock());
  IRMapping copied;
  b.clone(*function, copied);
  fuseCopies(group, copied);
  if (!exact)
    chooseEncodings(copy, target, fp8Rows);

  lm::FusedOp asked = askedIn(copy);
  KernelSelection selection(*asked->getBlock(), {exact, kDefaultKv, target.name()});
  if (failed(selection.select(asked)))
    return why.empty() ? "no kernel computes it" : why;
  b.setInsertionPointToEnd(aside->getBody());
  for (kernel::DispatchOp dispatch : selection.dispatches()) {
    SmallVector<unsigned> order;
    kernel::FuncOp fn = outline(b, dispatch.getBody(), order);
    chooseLayouts(fn, target);
    if (std::string refused = target.shapeOf(fn).refused; !refused.empty())
      return fn.anchor()->getName().getStringRef().str() + " " + refused;
  }
  return "";
}
