//===- ExpandCases.cpp - Expands nested conditions to lists of cases -------===//
//
//   plan.when [tokens <= 1] { a_norm }          plan.case when [tokens <= 1] { a_norm, b }
//   else { norm                                 plan.case when [tokens <= 8] { norm, a, b }
//          a }                            ─▶    plan.case                    { norm, a, rope, b }
//   plan.when [tokens <= 8] {} else { rope }
//   b
//
// A section becomes a list of cases, one for each list of launches that can occur. A step runs the first case whose
// conditions hold. The cases under a condition come first, and the last of them has no further condition, so a step
// that matches none of them does not satisfy the condition. The conditions that lead to a list give the mode and the
// ranges of tokens and rows of the steps that run it. They decide further conditions within the list, and the ranges
// give the counts with which a kernel is launched (kernel.counts). Kernels that no list launches are removed.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Structure.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Passes.h"

#include "llvm/ADT/MapVector.h"

#include <limits>

namespace ingot {
#define GEN_PASS_DEF_EXPANDCASESPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::plan;

namespace {

constexpr size_t kMostCases = 64; // of a section, as in runtime/engine/VerifyProgram.cpp

/// The values that a count may have: `least` to `most`.
struct Range {
  uint64_t least = 1, most = std::numeric_limits<uint64_t>::max();
};

/// The known properties of the steps that reach a list of launches, and the conditions of the enclosing ops.
struct Known {
  SmallVector<Condition> asked; ///< conditions of the case; for each count, only the smallest bound
  SmallVector<uint64_t> notModes;
  Range tokens, rows, tileTokens;

  Range &of(Quantity quantity) {
    return quantity == Quantity::Tokens ? tokens : quantity == Quantity::Rows ? rows : tileTokens;
  }
  /// Whether the condition holds; nullopt if only in some steps.
  std::optional<bool> decide(const Condition &condition) {
    if (condition.quantity == Quantity::Mode) {
      for (const Condition &known : asked)
        if (known.quantity == Quantity::Mode)
          return known.value == condition.value;
      if (llvm::is_contained(notModes, condition.value))
        return false;
      return std::nullopt;
    }
    Range range = of(condition.quantity);
    if (range.most <= condition.value)
      return true;
    if (range.least > condition.value)
      return false;
    return std::nullopt;
  }
  void add(const Condition &condition) {
    if (condition.quantity != Quantity::Mode) {
      of(condition.quantity).most = condition.value;
      llvm::erase_if(asked,
                     [&](const Condition &known) { return known.quantity == condition.quantity; });
    }
    asked.push_back(condition);
  }
  void addNot(const Condition &condition) {
    if (condition.quantity == Quantity::Mode)
      notModes.push_back(condition.value);
    else
      of(condition.quantity).least = condition.value + 1;
  }
};

struct StraightCase {
  Known known;
  SmallVector<LaunchOp> launches;

  bool isLike(const StraightCase &other) const {
    return llvm::equal(launches, other.launches, [](LaunchOp a, LaunchOp b) {
      return a.getKernelAttr() == b.getKernelAttr() && a.getArgsAttr() == b.getArgsAttr();
    });
  }
  /// Whether all steps of this case are steps of the other.
  bool isWithin(StraightCase other) {
    return llvm::all_of(other.known.asked, [&](const Condition &condition) {
      return known.decide(condition) == true;
    });
  }
};

/// The cases of one section, in order.
class Expansion {
public:
  explicit Expansion(SectionOp section) {
    SmallVector<Operation *> ops;
    if (auto cases = llvm::to_vector(section.getBody().getOps<CaseOp>()); !cases.empty()) {
      Known known;
      for (CaseOp one : cases)
        choose(
            one.getWhen() ? one.getWhen()->getConditions() : ArrayRef<Condition>(), known,
            [&](Known inner) { expand(opsOf(one.getBody()), inner, {}); }, [] {});
    } else {
      expand(opsOf(section.getBody()), Known(), {});
    }
    for (size_t i = all.size(); i-- > 1;)
      if (all[i - 1].isLike(all[i]) && all[i - 1].isWithin(all[i]))
        all.erase(all.begin() + i - 1);
  }

  SmallVector<StraightCase> all;

private:
  static SmallVector<Operation *> opsOf(Region &region) {
    SmallVector<Operation *> ops;
    if (!region.empty())
      ops.assign(llvm::make_pointer_range(region.front()).begin(),
                 llvm::make_pointer_range(region.front()).end());
    return ops;
  }

  /// Calls `held` where all conditions hold and `otherwise` where one does not, if such steps exist; `known`
  /// then describes the latter steps.
  void choose(ArrayRef<Condition> conditions, Known &known, llvm::function_ref<void(Known)> held,
              llvm::function_ref<void()> otherwise) {
    Known inner = known;
    SmallVector<Condition> open;
    for (const Condition &condition : conditions) {
      std::optional<bool> holds = inner.decide(condition);
      if (holds == false)
        return otherwise();
      if (!holds) {
        open.push_back(condition);
        inner.add(condition);
      }
    }
    held(inner);
    if (open.empty())
      return;
    if (open.size() == 1) // with several open conditions it is unknown which one fails
      known.addNot(open.front());
    otherwise();
  }

  /// Adds every list that `ops`, appended to `launches`, can become.
  void expand(SmallVector<Operation *> ops, Known known, SmallVector<LaunchOp> launches) {
    for (size_t i = 0; i < ops.size(); ++i) {
      if (auto launch = dyn_cast<LaunchOp>(ops[i])) {
        launches.push_back(launch);
        continue;
      }
      auto when = cast<WhenOp>(ops[i]);
      auto with = [&](Region &region) {
        SmallVector<Operation *> rest = opsOf(region);
        rest.append(ops.begin() + i + 1, ops.end());
        return rest;
      };
      return choose(
          when.getWhen().getConditions(), known,
          [&](Known inner) { expand(with(when.getBody()), inner, launches); },
          [&] { expand(with(when.getOtherwise()), known, launches); });
    }
    all.push_back({known, launches});
  }
};

struct ExpandCases : ingot::impl::ExpandCasesPassBase<ExpandCases> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::MapVector<Attribute, Range> met; // for each kernel, the counts of its launches
    llvm::StringMap<kernel::FuncOp> kernels;
    for (auto fn : module.getOps<kernel::FuncOp>())
      kernels[fn.getSymName()] = fn;
    for (auto program : module.getOps<ProgramOp>())
      for (SectionOp section : program.getBody().getOps<SectionOp>()) {
        Expansion expansion(section);
        if (expansion.all.size() > kMostCases) {
          section.emitOpError("expects at most ")
              << kMostCases << " cases, has " << expansion.all.size();
          return signalPassFailure();
        }
        for (StraightCase &one : expansion.all)
          for (LaunchOp launch : one.launches) {
            Range range = kernels.lookup(launch.getKernel()).launch().isPerRow() ? one.known.rows
                                                                                 : one.known.tokens;
            auto [it, isNew] = met.insert({launch.getKernelAttr().getAttr(), range});
            it->second.least = std::min(it->second.least, range.least);
            it->second.most = std::max(it->second.most, range.most);
          }
        rewrite(section, expansion.all);
      }
    for (auto fn : llvm::make_early_inc_range(module.getOps<kernel::FuncOp>())) {
      auto it = met.find(fn.getSymNameAttr());
      if (it == met.end())
        fn.erase();
      else if (Range range = it->second; range.least > 1 || range.most != Range().most)
        fn.setCountsAttr(kernel::CountsAttr::get(
            &getContext(), int64_t(range.least),
            range.most == Range().most ? std::nullopt : std::optional(int64_t(range.most))));
    }
  }

  static void rewrite(SectionOp section, ArrayRef<StraightCase> cases) {
    Block &old = section.getBody().front(), &made = section.getBody().emplaceBlock();
    for (const StraightCase &one : cases) {
      auto b = OpBuilder::atBlockEnd(&made);
      if (cases.size() > 1) {
        ArrayRef<Condition> asked = one.known.asked;
        auto op =
            CaseOp::create(b, section.getLoc(),
                           asked.empty() ? WhenAttr() : WhenAttr::get(section.getContext(), asked));
        b = OpBuilder::atBlockEnd(&op.getBody().emplaceBlock());
      }
      for (LaunchOp launch : one.launches)
        b.clone(*launch);
    }
    old.erase();
  }
};
} // namespace
