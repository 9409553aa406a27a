//===- Pdl.cpp - See Pdl.h ------------------------------------------------===//
#include "passes/patterns/Pdl.h"

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
