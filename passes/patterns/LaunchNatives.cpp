//===- LaunchNatives.cpp - Functions on launches for patterns --------------===//
//
// Launches pass rows to each other through buffers, which PDL patterns cannot follow. These functions find the
// consumers of a launch's rows. A launch is op<plan.launch>; each function accepts any op, but fails for ops other
// than launches.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Rows.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/lowering/Compositions.h"
#include "passes/lowering/KernelEdits.h"
#include "passes/patterns/Natives.h"

using namespace mlir;
using namespace ingot;
using patterns::constraint;
using patterns::Native;
using patterns::rewrite;
using patterns::Run;

static StringRef textOf(Attribute attribute) {
  auto text = dyn_cast_or_null<StringAttr>(attribute);
  return text ? text.getValue() : "";
}
static std::optional<int64_t> number(Attribute attribute) {
  auto integer = dyn_cast_or_null<IntegerAttr>(attribute);
  return integer ? std::optional(integer.getInt()) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

static LogicalResult isAnchoredBy(PatternRewriter &, Operation *op, Attribute name) {
  auto launch = dyn_cast<plan::LaunchOp>(op);
  return success(launch && launch.anchor()->getName().getStringRef() == textOf(name));
}

/// The arguments that the launch passes for rows that its kernel writes, with their types.
static SmallVector<std::pair<kernel::ActivationType, Attribute>>
rowsProducedBy(plan::LaunchOp launch) {
  SmallVector<std::pair<kernel::ActivationType, Attribute>> made;
  Block *body = launch.anchor()->getBlock();
  for (auto [effect, argument, passed] :
       llvm::zip(launch.operandEffects(), body->getArguments(), launch.getArgs()))
    if (auto rows = dyn_cast<kernel::ActivationType>(argument.getType()); rows && effect.writes)
      made.push_back({rows, passed});
  return made;
}

static LogicalResult producesRows(PatternRewriter &, Operation *op, Attribute encoding) {
  auto launch = dyn_cast<plan::LaunchOp>(op);
  std::optional<kernel::RowKind> kind = kernel::symbolizeRowKind(textOf(encoding));
  if (!launch || !kind)
    return failure();
  if (auto rowwise = dyn_cast<kernel::RowwiseOp>(launch.anchor());
      rowwise && (rowwise.getRoutes() || rowwise.getRowsOfToken() > 1))
    return failure();
  return success(llvm::any_of(rowsProducedBy(launch),
                              [&](const auto &rows) { return rows.first.getKind() == *kind; }));
}

static LogicalResult producesWidth(PatternRewriter &, Operation *op, Attribute width) {
  auto launch = dyn_cast<plan::LaunchOp>(op);
  std::optional<int64_t> n = number(width);
  return success(launch && n && llvm::any_of(rowsProducedBy(launch), [&](const auto &rows) {
                   return rows.first.getN() == *n;
                 }));
}

static LogicalResult hasConsumers(PatternRewriter &, Operation *op, Attribute count) {
  auto launch = dyn_cast<plan::LaunchOp>(op);
  std::optional<int64_t> n = number(count);
  if (!launch || !n)
    return failure();
  int64_t consumers = 0;
  const auto made = rowsProducedBy(launch);
  for (plan::LaunchOp other : launchesBehind(launch)) {
    bool reads = false;
    for (auto [effect, passed] : llvm::zip(other.operandEffects(), other.getArgs()))
      reads |= effect.reads &&
               llvm::any_of(made, [&](const auto &rows) { return rows.second == passed; });
    consumers += reads;
  }
  return success(consumers == *n);
}

//===----------------------------------------------------------------------===//
// Compositions
//===----------------------------------------------------------------------===//

/// Why launches cannot be composed here; "" if they can.
static std::string whyNotHere(const Run &run, Operation *op) {
  auto launch = dyn_cast<plan::LaunchOp>(op);
  if (!launch)
    return op->getName().getStringRef().str() + " is not a launch";
  auto program = launch->getParentOfType<plan::ProgramOp>();
  if (llvm::any_of(program.getBody().getOps<plan::BufferOp>(),
                   [](plan::BufferOp buffer) { return bool(buffer.getOffsetAttr()); }))
    return "the program is already planned: launches are composed at the point pre-plan";
  return run.compositions ? "" : "no device is given: device=cuda";
}

using WhyNot = std::string (Compositions::*)(plan::LaunchOp);
using Compose = bool (Compositions::*)(plan::LaunchOp, StringRef, int64_t);

template <WhyNot whyNot>
static LogicalResult canFuse(Run &run, PatternRewriter &, Attribute name, Operation *op) {
  std::string why = whyNotHere(run, op);
  if (why.empty())
    why = (run.compositions->*whyNot)(cast<plan::LaunchOp>(op));
  if (!why.empty())
    run.missed(op, textOf(name), why);
  return success(why.empty());
}

static void compose(Run &run, Operation *op, Attribute name, Attribute most, Compose how) {
  const std::optional<int64_t> limit = number(most);
  std::string why = whyNotHere(run, op);
  if (why.empty() && (!limit || *limit < 1))
    why = "steps have at least one token: attr<\"8\">";
  if (!why.empty())
    run.missed(op, textOf(name), why);
  if (!why.empty() || !(run.compositions->*how)(cast<plan::LaunchOp>(op), textOf(name), *limit))
    run.leftAsItWas = true;
}
template <Compose how>
static void composeUpTo(Run &run, PatternRewriter &, Attribute name, Operation *op,
                        Attribute most) {
  compose(run, op, name, most, how);
}
template <Compose how>
static void composeAny(Run &run, PatternRewriter &, Attribute name, Operation *op) {
  auto any = IntegerType::get(op->getContext(), 64);
  compose(run, op, name, IntegerAttr::get(any, std::numeric_limits<int64_t>::max()), how);
}

static constexpr Native kNatives[] = {
    constraint<isAnchoredBy>("IsAnchoredBy(operation, attribute)"),
    constraint<producesRows>("ProducesRows(operation, attribute)"),
    constraint<producesWidth>("ProducesWidth(operation, attribute)"),
    constraint<hasConsumers>("HasConsumers(operation, attribute)"),
    constraint<canFuse<&Compositions::whyNotIntoConsumers>>(
        "CanFuseIntoConsumers(attribute, operation)"),
    constraint<canFuse<&Compositions::whyNotIntoProducer>>(
        "CanFuseIntoProducer(attribute, operation)"),
    rewrite<composeAny<&Compositions::fuseIntoConsumers>>(
        "FuseIntoConsumers(attribute, operation)"),
    rewrite<composeAny<&Compositions::fuseIntoProducer>>("FuseIntoProducer(attribute, operation)"),
    rewrite<composeUpTo<&Compositions::fuseIntoConsumers>>(
        "FuseIntoConsumersUpTo(attribute, operation, attribute)"),
    rewrite<composeUpTo<&Compositions::fuseIntoProducer>>(
        "FuseIntoProducerUpTo(attribute, operation, attribute)"),
};

ArrayRef<Native> patterns::launchNatives() { return kNatives; }
