//===- Section.h - Sections, their cases and launches ---------------------===//
#pragma once

#include "dialects/plan/PlanDialect.h"

namespace ingot::plan {

class ProgramOp;
class LaunchOp;

/// A case of a section: its conditions (null if it always applies) and its launches.
struct Case {
  WhenAttr when;
  mlir::Block *block;

  llvm::iterator_range<mlir::Block::op_iterator<LaunchOp>> launches() const;
};

} // namespace ingot::plan

#define GET_OP_CLASSES
#include "dialects/plan/ops/Section.h.inc"

inline llvm::iterator_range<mlir::Block::op_iterator<ingot::plan::LaunchOp>>
ingot::plan::Case::launches() const {
  return block->getOps<LaunchOp>();
}
