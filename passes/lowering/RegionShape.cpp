//===- RegionShape.cpp - See RegionShape.h ---------------------------------===//
//
//   a copy of the layer kind or entry ─▶ the ops as one region ─▶ encodings ─▶ its launch ─▶ layouts ─▶ Target::shapeOf
//
// The ops are lowered by the code that lowers whole models, so the answer is the one that the model would
// get.
//===----------------------------------------------------------------------===//
#include "passes/lowering/RegionShape.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "passes/lowering/SectionLowering.h"

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
    Block &body = fused.getBody().front();
    SmallVector<Value> results(body.getTerminator()->getOperands());
    while (&body.front() != body.getTerminator()) {
      ops.insert(&body.front());
      body.front().moveBefore(fused);
    }
    rewriter.replaceOp(fused, results);
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

  b.setInsertionPointToEnd(aside->getBody());
  auto program = plan::ProgramOp::create(b, copy.getSymName(), copy.getFamily(), copy.getVocab(),
                                         copy.getHidden(), copy.getMaxPositions());
  b.setInsertionPointToStart(&program.getBody().emplaceBlock());
  auto section = plan::SectionOp::create(b, "asked");
  section.getBody().emplaceBlock();
  lm::FusedOp asked = askedIn(copy);
  Block &block = *asked->getBlock();
  ProgramBuilder builder(program, copy, {exact, KvFormat::F16, target.name()});
  SectionLowering lowering(builder, section, block);
  // The locations of its inputs do not matter, but they must differ.
  int64_t place = 0;
  auto bindAll = [&](ValueRange values) {
    for (Value value : values)
      lowering.bind(value, b.getI64IntegerAttr(place++));
  };
  bindAll(block.getArguments());
  for (Operation &op : block)
    if (&op != asked)
      bindAll(op.getResults());
  if (failed(lowering.lowerRange(asked->getIterator(), std::next(asked->getIterator()))))
    return why.empty() ? "it cannot be lowered to a launch" : why;
  for (auto fn : aside->getOps<kernel::FuncOp>()) {
    chooseLayouts(fn, target);
    if (std::string refused = target.shapeOf(fn).refused; !refused.empty())
      return fn.anchor()->getName().getStringRef().str() + " " + refused;
  }
  return "";
}
