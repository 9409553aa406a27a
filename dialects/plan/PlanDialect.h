//===- PlanDialect.h - C++ face of the plan dialect -----------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#include "dialects/plan/PlanDialect.h.inc"
#include "dialects/plan/PlanEnums.h.inc"

namespace ingot::plan {

/// A condition of a case: the step's quantity is `value` (a Mode, as a number).
struct Condition {
  Quantity quantity;
  uint32_t value;

  bool operator==(const Condition &) const = default;
};
inline llvm::hash_code hash_value(const Condition &condition) {
  return llvm::hash_combine(static_cast<uint32_t>(condition.quantity), condition.value);
}

} // namespace ingot::plan

#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.h.inc"
