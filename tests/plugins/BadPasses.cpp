//===- BadPasses.cpp - A plugin whose passes are each wrong in a different way ----===//
//
//   bad-changes   doubles one side of every sum: another model
//   bad-fails     signals failure, with a diagnostic
//   bad-invalid   leaves IR that the verifier refuses
//   bad-start     fails in initialize
//   bad-crash     writes through a null pointer
//   bad-late      runs after the lowering: every product becomes a sum
//   bad-once      like bad-late, but does nothing when it runs again
//===----------------------------------------------------------------------===//

#include "dialects/kernel/ops/Structure.h"
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

#include <utility>

using namespace mlir;
using namespace ingot;

namespace {

template <typename Derived> using ModelPass = PassWrapper<Derived, OperationPass<lm::ModelOp>>;

struct Changes : ModelPass<Changes> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Changes)
  StringRef getArgument() const override { return "bad-changes"; }
  void runOnOperation() override {
    getOperation().walk([](lm::AddOp op) { op->setOperand(1, op->getOperand(0)); });
  }
};

struct Fails : ModelPass<Fails> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Fails)
  StringRef getArgument() const override { return "bad-fails"; }
  void runOnOperation() override {
    getOperation().emitError("not today");
    signalPassFailure();
  }
};

struct Invalid : ModelPass<Invalid> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Invalid)
  StringRef getArgument() const override { return "bad-invalid"; }
  void runOnOperation() override {
    getOperation().walk([](lm::WeightOp op) { op->removeAttr("type"); });
  }
};

struct Start : ModelPass<Start> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Start)
  StringRef getArgument() const override { return "bad-start"; }
  LogicalResult initialize(MLIRContext *context) override {
    return emitError(UnknownLoc::get(context), "no table to start from");
  }
  void runOnOperation() override {}
};

struct Crash : ModelPass<Crash> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Crash)
  StringRef getArgument() const override { return "bad-crash"; }
  void runOnOperation() override {
    int *volatile nowhere = nullptr;
    *nowhere = 1;
  }
};

void sumInsteadOf(arith::MulFOp op) {
  OpBuilder builder(op);
  op.replaceAllUsesWith(
      arith::AddFOp::create(builder, op.getLoc(), op.getLhs(), op.getRhs()).getResult());
  op.erase();
}

struct Late : PassWrapper<Late, OperationPass<kernel::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Late)
  StringRef getArgument() const override { return "bad-late"; }
  void runOnOperation() override {
    getOperation().walk([](arith::MulFOp op) { sumInsteadOf(op); });
  }
};

struct Once : PassWrapper<Once, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Once)
  StringRef getArgument() const override { return "bad-once"; }
  void runOnOperation() override {
    static bool ran = false;
    if (!std::exchange(ran, true))
      getOperation().walk([](arith::MulFOp op) { sumInsteadOf(op); });
  }
};

} // namespace

extern "C" PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "ingot-bad", LLVM_VERSION_STRING, [] {
            PassRegistration<Changes>();
            PassRegistration<Fails>();
            PassRegistration<Invalid>();
            PassRegistration<Start>();
            PassRegistration<Crash>();
            PassRegistration<Late>();
            PassRegistration<Once>();
          }};
}
