//===- FindIds.cpp - Steps that produce ids instead of logits -------------===//
//
//   section ids    mode = greedy   argmax ▶ argmax_finish
//                  mode = drawn    argmax ▶ draw_weigh ▶ draw_ids
//                  else            nothing: the host wants the logits
//
// argmax is left out of steps where the head updates the keys.
//
// The section is the last one of the entry. Keys and sums are 0 between steps: their last consumer resets
// them. Ids are kept for the next step, which may begin with them. All three therefore outlive the step.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Ids.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Target.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ingot {
#define GEN_PASS_DEF_FINDIDSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using kernel::ActivationType;
using kernel::RowKind;

namespace {

/// A buffer of rows, as kernels see it.
struct RowBuffer {
  ActivationType type;
  FlatSymbolRefAttr symbol;
};

/// The section of one entry under construction.
class IdSection {
public:
  IdSection(const Target &target, plan::ProgramOp program, plan::EntryOp entry)
      : target(target), program(program), entry(entry),
        module(program->getParentOfType<ModuleOp>()), context(program.getContext()),
        loc(program.getLoc()) {}

  void build() {
    const int64_t vocabulary = program.getVocab();
    const RowBuffer logits{ActivationType::get(context, vocabulary, RowKind::F32),
                           entry.outputOf(plan::OutputRole::Logits).getBufferAttr()};
    RowBuffer keys{ActivationType::get(context, 1, RowKind::Key), {}};
    if (plan::OutputOp raised = entry.outputOf(plan::OutputRole::Keys))
      keys.symbol = raised.getBufferAttr();
    else
      keys = buffer("greedy_keys", keys.type);
    const RowBuffer ids = buffer("greedy_ids", ActivationType::get(context, 1, RowKind::I32)),
                    sums = buffer("draw_sums",
                                  ActivationType::get(context, target.drawSumsBytes(vocabulary),
                                                      RowKind::Bytes));
    const uint64_t folded = rowsRaised(keys);

    OpBuilder b(entry);
    auto section = plan::SectionOp::create(b, loc, "ids");
    section.getBody().emplaceBlock();
    auto isMode = [](plan::Mode mode) {
      return plan::Condition{plan::Quantity::Mode, static_cast<uint64_t>(mode)};
    };
    plan::WhenOp isGreedy = addWhen(section.getBody(), isMode(plan::Mode::Greedy)),
                 isDrawn = addWhen(isGreedy.getOtherwise(), isMode(plan::Mode::Drawn));
    Region &greedy = isGreedy.getBody(), &drawn = isDrawn.getBody();

    for (Region *one : {&greedy, &drawn}) {
      Region &unraised =
          folded ? addWhen(*one, {plan::Quantity::Rows, folded}).getOtherwise() : *one;
      launch(unraised, "argmax", {logits, keys}, [&](ImplicitLocOpBuilder &b, ValueRange args) {
        kernel::ArgmaxOp::create(b, args[0], args[1]);
      });
    }
    launch(greedy, "argmax_finish", {keys, ids}, [&](ImplicitLocOpBuilder &b, ValueRange args) {
      kernel::ArgmaxFinishOp::create(b, args[0], args[1]);
    });
    launch(drawn, "draw_weigh", {logits, keys, sums},
           [&](ImplicitLocOpBuilder &b, ValueRange args) {
             kernel::DrawWeighOp::create(b, args[0], args[1], args[2]);
           });
    launch(drawn, "draw_ids", {logits, keys, sums, ids},
           [&](ImplicitLocOpBuilder &b, ValueRange args) {
             kernel::DrawIdsOp::create(b, args[0], args[1], args[2], args[3]);
           });

    OpBuilder behind = OpBuilder::atBlockBegin(&entry.getBody().front());
    for (plan::StepOp step : entry.getBody().getOps<plan::StepOp>())
      behind.setInsertionPointAfter(step);
    plan::StepOp::create(behind, loc, FlatSymbolRefAttr::get(section.getSymNameAttr()), ArrayAttr(),
                         ArrayAttr(), IntegerAttr());
    entry.addOutput(plan::OutputRole::Ids, plan::Encoding::I32, ids.symbol);
    entry.addMode(plan::Mode::Greedy);
    entry.addMode(plan::Mode::Drawn);
  }

private:
  RowBuffer buffer(StringRef name, ActivationType type) {
    auto b = OpBuilder::atBlockBegin(&program.getBody().front());
    plan::BufferOp::create(b, loc, name, plan::BufferClass::PerRow, roundUp(type.rowBytes(), 64),
                           IntegerAttr(), /*persistent=*/true);
    return {type, FlatSymbolRefAttr::get(context, name)};
  }

  /// The largest number of rows for which a projection updates the keys; 0 if none does.
  uint64_t rowsRaised(const RowBuffer &keys) {
    uint64_t most = 0;
    Attribute passed = plan::BufferRefAttr::get(context, keys.symbol);
    program.walk([&](plan::LaunchOp launch) {
      if (!llvm::is_contained(launch.getArgs(), passed))
        return;
      uint64_t rows = std::numeric_limits<uint64_t>::max();
      for (auto when = launch->getParentOfType<plan::WhenOp>(); when;
           when = when->getParentOfType<plan::WhenOp>())
        for (const plan::Condition &condition : when.getWhen().getConditions())
          if (condition.quantity == plan::Quantity::Rows &&
              when.getBody().isAncestor(launch->getParentRegion()))
            rows = std::min(rows, condition.value);
      most = std::max(most, rows);
    });
    return most;
  }

  /// `plan.when [condition] {} else {}` at the end of a list.
  plan::WhenOp addWhen(Region &list, plan::Condition condition) {
    auto b = OpBuilder::atBlockEnd(&list.front());
    auto when = plan::WhenOp::create(b, loc, plan::WhenAttr::get(context, {condition}));
    when.getBody().emplaceBlock();
    when.getOtherwise().emplaceBlock();
    return when;
  }

  /// Launches the kernel of that name, creating it if there is none.
  void launch(Region &list, StringRef name, ArrayRef<RowBuffer> operands,
              llvm::function_ref<void(ImplicitLocOpBuilder &, ValueRange)> body) {
    SmallVector<Type> types;
    SmallVector<Attribute> passed;
    for (const RowBuffer &operand : operands) {
      types.push_back(operand.type);
      passed.push_back(plan::BufferRefAttr::get(context, operand.symbol));
    }
    if (!module.lookupSymbol(name)) {
      ImplicitLocOpBuilder b(loc, program); // kernels precede the program
      auto fn = kernel::FuncOp::create(b, name, b.getFunctionType(types, {}));
      Block &block = fn.getBody().emplaceBlock();
      block.addArguments(types, SmallVector<Location>(types.size(), loc));
      b.setInsertionPointToStart(&block);
      body(b, block.getArguments());
      kernel::ReturnOp::create(b);
    }
    auto b = OpBuilder::atBlockEnd(&list.front());
    plan::LaunchOp::create(b, loc, name, b.getArrayAttr(passed), /*no_barrier=*/false);
  }

  const Target &target;
  plan::ProgramOp program;
  plan::EntryOp entry;
  ModuleOp module;
  MLIRContext *context;
  Location loc;
};

struct FindIds : ingot::impl::FindIdsPassBase<FindIds> {
  using FindIdsPassBase::FindIdsPassBase;

  void runOnOperation() override {
    const Target &target = targetOf(device);
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      if (plan::EntryOp entry = program.generateEntry(); entry &&
                                                         entry.outputOf(plan::OutputRole::Logits) &&
                                                         !entry.outputOf(plan::OutputRole::Ids))
        IdSection(target, program, entry).build();
  }
};
} // namespace
