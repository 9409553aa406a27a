//===- Origin.cpp - See Origin.h ------------------------------------------===//
#include "passes/lowering/Origin.h"
#include "dialects/plan/ops/Section.h"

using namespace mlir;
using namespace ingot;

Location ingot::originIn(Location place, StringRef ops) {
  return FusedLoc::get({place}, StringAttr::get(place.getContext(), ops), place.getContext());
}

static void setOrigin(plan::LaunchOp launch, StringRef ops) {
  Location place = launch.getLoc();
  if (auto before = dyn_cast<FusedLoc>(place); before && before.getMetadata())
    place = before.getLocations().front();
  launch->setLoc(originIn(place, ops));
}

StringRef ingot::originOf(plan::LaunchOp launch) {
  auto fused = dyn_cast<FusedLoc>(launch.getLoc());
  auto ops = fused ? dyn_cast_or_null<StringAttr>(fused.getMetadata()) : StringAttr();
  return ops ? ops.getValue() : StringRef();
}

void ingot::addOriginBefore(plan::LaunchOp launch, plan::LaunchOp other) {
  setOrigin(launch, (originOf(other) + originOf(launch)).str());
}

void ingot::addOriginBehind(plan::LaunchOp launch, plan::LaunchOp other) {
  setOrigin(launch, (originOf(launch) + originOf(other)).str());
}
