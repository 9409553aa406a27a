//===- SortOperands.cpp - A sample plugin: one pass over lm.model ---------===//
//
//   ingot compile MODEL --plugin ingot-sample-plugin.so --insert
//   'pre-fusion=lm.model(sample-sort-operands)' …
//
// Puts the operand of a sum or product that is computed earlier first, so that CSE sees a + b and b
// + a as the same op. The sample is small but complete: a pass, a remark, the entry point. The
// CMakeLists.txt in this folder shows how to link it.
//===----------------------------------------------------------------------===//

#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Model.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace ingot;

namespace {

struct SortOperands : PassWrapper<SortOperands, OperationPass<lm::ModelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SortOperands)

  StringRef getArgument() const override { return "sample-sort-operands"; }
  StringRef getDescription() const override {
    return "sums and products take the earlier operand first";
  }

  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (isa<lm::AddOp, lm::MulOp>(op) && isEarlier(op->getOperand(1), op->getOperand(0))) {
        op->setOperands({op->getOperand(1), op->getOperand(0)});
        // `ingot compile --remarks` shows the category "fusion".
        remark::passed(op->getLoc(), remark::RemarkOpts::name("sort_operands").category("fusion"))
            << "the earlier operand comes first";
      }
    });
  }

  /// Block arguments are earlier than the block's ops.
  static bool isEarlier(Value a, Value b) {
    Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
    if (!second || a.getParentBlock() != b.getParentBlock())
      return false;
    return !first || first->isBeforeInBlock(second);
  }
};

} // namespace

extern "C" PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "ingot-sample", LLVM_VERSION_STRING,
          [] { PassRegistration<SortOperands>(); }};
}
