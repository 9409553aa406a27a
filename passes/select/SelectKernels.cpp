//===- SelectKernels.cpp - The kernels of a model, on values ----------------===//
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Model.h"
#include "passes/Target.h"
#include "passes/select/KernelSelection.h"

namespace ingot {
#define GEN_PASS_DEF_SELECTKERNELSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct SelectKernels : ingot::impl::SelectKernelsPassBase<SelectKernels> {
  using SelectKernelsPassBase::SelectKernelsPassBase;

  void runOnOperation() override {
    const Target &target = targetOf(device);
    const bool exact = precision == Precision::Exact;
    for (lm::ModelOp model : getOperation().getOps<lm::ModelOp>()) {
      if (failed(checkTarget(model, target, exact)))
        return signalPassFailure();
      for (auto function : model.getBody().getOps<FunctionOpInterface>())
        if (failed(KernelSelection(function.getFunctionBody().front(), {exact, kv, target.name()})
                       .run()))
          return signalPassFailure();
    }
  }

  LogicalResult checkTarget(lm::ModelOp model, const Target &target, bool exact) {
    if (exact && !target.hasExact())
      return getOperation().emitError("expects precision fast for ") << target.name();
    if (const KvFormatInfo &format = kvFormat(kv); !target.kvFormats()(format))
      return getOperation().emitError("expects kv ")
             << kvFormatNames(target.kvFormats(), "or") << " for " << target.name() << ", got "
             << format.name;
    for (lm::StateOp state : model.getBody().getOps<lm::StateOp>())
      if (state.getElement() && !target.kvFormats()(kvFormat(*kvFormatNamed(*state.getElement()))))
        return state.emitOpError("has the element type ")
               << state.getElementAttr() << ", but " << target.name() << " supports "
               << kvFormatNames(target.kvFormats(), "and");
    return success();
  }
};
} // namespace
