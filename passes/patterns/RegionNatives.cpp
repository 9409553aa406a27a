//===- RegionNatives.cpp - Fuse, Missed, and one-launch checks ------------===//
#include "dialects/lm/LmOps.h"
#include "passes/patterns/Natives.h"
#include "passes/select/OneKernel.h"
#include "passes/select/RowEncodings.h"
#include "passes/select/TargetQuery.h"

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

/// Emits a remark and leaves the program unchanged.
static void missed(Run &run, PatternRewriter &, Attribute name, Attribute why, Operation *op) {
  run.leftAsItWas = true;
  run.missed(op, textOf(name), textOf(why).str());
}

//===----------------------------------------------------------------------===//
// Fuse
//===----------------------------------------------------------------------===//

/// Why an external kernel cannot compute these ops; nullopt if it can.
static std::optional<std::string> whyNotRowByRow(const Run &, const OpGroup &group) {
  for (Operation *op : group)
    for (Operation *inner : opsOf(op))
      if (isa<lm::AttentionOp, lm::CombineOp, lm::DispatchOp, lm::EmbedOp, lm::EmbedPositionsOp,
              lm::GetWeightOp, lm::KvAppendOp, lm::LayersOp, lm::LinearOp, lm::RouteOp,
              lm::SelectRowsOp>(inner))
        return inner->getName().getStringRef().str() +
               " does not compute a row from rows, vectors and a fixed state";
  return std::nullopt;
}

/// Why lowering, or a target of this compilation, has no launch for these ops; nullopt if all have one.
static std::optional<std::string> whyNotOnTargets(const Run &run, const OpGroup &group) {
  if (auto why = whyNotOneKernel(group))
    return why;
  for (const Target *target : run.whom.targets)
    if (std::string why = refusalOf(group, *target, run.whom.exact, run.whom.fp8Rows); !why.empty())
      return "no kernel of " + target->name().str() + ": " + why;
  return std::nullopt;
}

/// The ops that define these values.
static OpGroup producersOf(ValueRange values) {
  OpGroup group;
  for (Value value : values)
    if (Operation *op = value ? value.getDefiningOp() : nullptr)
      group.insert(op);
  return group;
}

using WhyNot = std::optional<std::string> (*)(const Run &, const OpGroup &);

/// Why the ops cannot become one region; nullopt if they can.
static std::optional<std::string> whyNoRegion(const Run &run, const OpGroup &group, WhyNot whyNot) {
  if (llvm::any_of(group,
                   [&](Operation *op) { return op->getBlock() != group.front()->getBlock(); }))
    return "some of its ops are in another region";
  if (!isConvex(group))
    return "a value leaves the region and re-enters it";
  return whyNot(run, group);
}

/// Whether a region may have this name. Launches, kernels and the files of user kernels (KernelFile.h) are named after
/// regions.
static bool isName(StringRef name) {
  return !name.empty() && name.size() <= 64 && llvm::isAlpha(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// Fuses the ops that define these values into one region, if a launch can compute it. Regions among these ops are
/// inlined first.
template <WhyNot whyNot>
static void fuseOps(Run &run, PatternRewriter &rewriter, Attribute name, ValueRange values) {
  if (!isName(textOf(name))) {
    std::string given;
    llvm::raw_string_ostream(given) << name;
    return run.fail(
        "Fuse: " + StringRef(given).take_front(80).str() +
        " is not a valid region name: a letter, then letters, digits and _, at most 64 characters");
  }
  OpGroup group = producersOf(values);
  if (group.empty() || isa<lm::FusedOp>(group.front()->getParentOp())) {
    run.leftAsItWas = true;
    return;
  }
  Operation *last = values.back().getDefiningOp() ? values.back().getDefiningOp() : group.back();
  if (auto why = whyNoRegion(run, group, whyNot)) {
    run.leftAsItWas = true;
    return run.missed(last, textOf(name), *why);
  }
  OpGroup ops;
  for (Operation *op : group)
    if (auto fused = dyn_cast<lm::FusedOp>(op))
      ops.insert_range(inlineRegion(rewriter, fused));
    else
      ops.insert(op);
  fuse(ops, textOf(name));
  run.leftAsItWas = false; // a previous Fuse of this rewrite may have set it
}

/// Whether Fuse would make a region of these ops. Fails if they are already in one.
static LogicalResult targetCanFuse(Run &run, PatternRewriter &, Attribute name, ValueRange values) {
  OpGroup group = producersOf(values);
  if (group.empty() || isa<lm::FusedOp>(group.front()->getParentOp()))
    return failure();
  std::optional<std::string> why = whyNoRegion(run, group, whyNotOnTargets);
  if (why)
    run.missed(group.back(), textOf(name), *why);
  return success(!why);
}

/// Concatenates values and lists of values into one list. PDL itself cannot build lists in a match.
static LogicalResult concatRange(PatternRewriter &, PDLResultList &results,
                                 ArrayRef<PDLValue> given) {
  SmallVector<Value> values;
  for (const PDLValue &one : given)
    if (!one)
      return failure();
    else if (auto value = one.dyn_cast<Value>())
      values.push_back(value);
    else
      llvm::append_range(values, one.cast<ValueRange>());
  results.push_back(ValueRange(values));
  return success();
}

//===----------------------------------------------------------------------===//
// Norms that read a value
//===----------------------------------------------------------------------===//

static SmallVector<Value> consumingNorms(Value value) {
  SmallVector<Value> norms;
  Operation *producer = value ? value.getDefiningOp() : nullptr;
  if (!producer)
    return norms;
  for (Operation *user : value.getUsers())
    if (lm::isRowNorm(user) && user->getBlock() == producer->getBlock() &&
        !llvm::is_contained(norms, user->getResult(0)))
      norms.push_back(user->getResult(0));
  return norms;
}
static SmallVector<Value> readingNorms(PatternRewriter &, Value value) {
  return consumingNorms(value);
}
static LogicalResult hasReadingNorms(PatternRewriter &, Value value, Attribute count) {
  auto number = dyn_cast_or_null<IntegerAttr>(count);
  return success(number && int64_t(consumingNorms(value).size()) == number.getInt());
}

static constexpr Native kNatives[] = {
    rewrite<fuseOps<whyNotOnTargets>>("Fuse(attribute, range<value>)"),
    rewrite<fuseOps<whyNotRowByRow>>("FuseForKernel(attribute, range<value>)"),
    constraint<targetCanFuse>("TargetCanFuse(attribute, range<value>)"),
    constraint<concatRange>("ConcatRange(value, value) -> range<value>"),
    constraint<concatRange>("ConcatRange(range<value>, value) -> range<value>"),
    constraint<concatRange>("ConcatRange(value, range<value>) -> range<value>"),
    constraint<concatRange>("ConcatRange(range<value>, range<value>) -> range<value>"),
    rewrite<missed>("Missed(attribute, attribute, operation)"),
    constraint<hasReadingNorms>("HasReadingNorms(value, attribute)"),
    rewrite<readingNorms>("ReadingNorms(value) -> range<value>"),
};

ArrayRef<Native> patterns::regionNatives() { return kNatives; }
