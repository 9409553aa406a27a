//===- Pdl.cpp - See Pdl.h ------------------------------------------------===//
#include "passes/patterns/Pdl.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace ingot;

std::string patterns::placeOf(Location location) {
  auto place = dyn_cast<FileLineColLoc>(location);
  return place ? place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" +
                     std::to_string(place.getColumn())
               : "an unknown place";
}

std::string patterns::nameOf(pdl::PatternOp pattern) {
  return pattern.getSymName() ? pattern.getSymName()->str() : "at " + placeOf(pattern.getLoc());
}

std::optional<uint64_t> patterns::resultsOf(pdl::OperationOp op) {
  std::optional<StringRef> name = op.getOpName();
  auto info = name ? RegisteredOperationName::lookup(*name, op.getContext()) : std::nullopt;
  if (!info)
    return std::nullopt;
  if (info->hasTrait<OpTrait::OneResult>())
    return 1;
  if (info->hasTrait<OpTrait::NResults<2>::Impl>())
    return 2;
  return std::nullopt;
}

void patterns::nameResults(ModuleOp module) {
  module.walk([](pdl::ResultsOp group) {
    std::optional<uint64_t> results =
        resultsOf(group.getParent().getDefiningOp<pdl::OperationOp>());
    if (!results || !group.getIndex() || *group.getIndex() >= *results ||
        !isa<pdl::ValueType>(group.getType()))
      return;
    OpBuilder b(group);
    group.replaceAllUsesWith(pdl::ResultOp::create(b, group.getLoc(), group.getType(),
                                                   group.getParent(), *group.getIndex())
                                 .getResult());
    group.erase();
  });
}

pdl::OperationOp patterns::exchangeable(pdl::ApplyNativeConstraintOp either) {
  auto op = either.getArgs().front().getDefiningOp<pdl::OperationOp>();
  std::optional<StringRef> name = op ? op.getOpName() : std::nullopt;
  auto info = name ? RegisteredOperationName::lookup(*name, op.getContext()) : std::nullopt;
  const bool can = info && info->hasTrait<OpTrait::IsCommutative>() && !either.getIsNegated() &&
                   op.getOperandValues().size() == 2 &&
                   llvm::all_of(op.getOperandValues().getTypes(), llvm::IsaPred<pdl::ValueType>);
  return can ? op : pdl::OperationOp();
}

void patterns::addExchanged(ModuleOp module) {
  SmallVector<pdl::PatternOp> open(module.getOps<pdl::PatternOp>());
  while (!open.empty()) {
    pdl::PatternOp pattern = open.pop_back_val();
    auto calls = pattern.getOps<pdl::ApplyNativeConstraintOp>();
    auto either = llvm::find_if(calls, [](auto call) { return call.getName() == "EitherOrder"; });
    if (either == calls.end())
      continue;
    pdl::OperationOp op = exchangeable(*either);
    (*either)->erase();
    OpBuilder b(pattern);
    b.setInsertionPointAfter(pattern);
    IRMapping mapping;
    auto copy = cast<pdl::PatternOp>(b.clone(*pattern, mapping));
    copy.removeSymNameAttr();
    copy.setBenefit(std::max<int>(0, pattern.getBenefit() - 1));
    Operation *exchanged = mapping.lookup(op.getOperation());
    Value first = exchanged->getOperand(0);
    exchanged->setOperand(0, exchanged->getOperand(1));
    exchanged->setOperand(1, first);
    open.append({pattern, copy});
  }
}
