//===- PlanDialect.h - C++ declarations of the plan dialect ---------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#include "dialects/plan/PlanDialect.h.inc"
#include "dialects/plan/PlanEnums.h.inc"

namespace ingot::plan {

/// The counts of a step that conditions test.
struct StepCounts {
  Mode mode;
  int64_t tokens, rows;
  int64_t tileTokens = 1; ///< of the largest attention tile
};
/// Greater than the bound of any condition.
constexpr int64_t kManyTokens = int64_t(1) << 40;
constexpr StepCounts manyIn(Mode mode) { return {mode, kManyTokens, kManyTokens, kManyTokens}; }

/// A condition of a case: the step's mode is `value` (a Mode, as a number), or the step's count is at most `value`.
struct Condition {
  Quantity quantity;
  uint64_t value;

  bool holds(const StepCounts &counts) const;

  bool operator==(const Condition &) const = default;
};
inline llvm::hash_code hash_value(const Condition &condition) {
  return llvm::hash_combine(static_cast<uint32_t>(condition.quantity), condition.value);
}

} // namespace ingot::plan

#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.h.inc"

namespace ingot::plan {

/// Prints the conditions of a case: `[mode = greedy, tokens <= 8]`.
void printWhen(mlir::AsmPrinter &printer, WhenAttr when, llvm::StringRef atMost = " <= ");

} // namespace ingot::plan
