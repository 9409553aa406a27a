//===- FileFusions.cpp - The passes whose patterns are files --------------===//
//
// Each pass applies the file of its name in passes/patterns.
//===----------------------------------------------------------------------===//
#include "dialects/lm/ops/Model.h"
#include "passes/Target.h"
#include "passes/patterns/OurPatterns.h"

#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "mlir/Parser/Parser.h"

namespace ingot {
#define GEN_PASS_DEF_APPENDEPILOGUESPASS
#define GEN_PASS_DEF_FUSEGATEUPPASS
#define GEN_PASS_DEF_FUSENORMSPASS
#define GEN_PASS_DEF_FUSERESIDUALPASS
#define GEN_PASS_DEF_NORMPROLOGUESPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

// mlir-pdll calls the function of every file populateGeneratedPDLLPatterns.
namespace append_epilogues {
#include "passes/patterns/AppendEpilogues.h.inc"
}
namespace gate_up {
#include "passes/patterns/GateUp.h.inc"
}
namespace norm_prologues {
#include "passes/patterns/NormPrologues.h.inc"
}
namespace norms {
#include "passes/patterns/Norms.h.inc"
}
namespace residual {
#include "passes/patterns/Residual.h.inc"
}

namespace {

struct FuseGateUp : ingot::impl::FuseGateUpPassBase<FuseGateUp> {
  LogicalResult initialize(MLIRContext *context) override {
    rules.read(context, gate_up::populateGeneratedPDLLPatterns<>);
    return success();
  }
  void runOnOperation() override { rules.applyTo(getOperation()); }
  patterns::OurPatterns rules;
};

struct FuseResidual : ingot::impl::FuseResidualPassBase<FuseResidual> {
  LogicalResult initialize(MLIRContext *context) override {
    rules.read(context, residual::populateGeneratedPDLLPatterns<>);
    return success();
  }
  void runOnOperation() override { rules.applyTo(getOperation()); }
  patterns::OurPatterns rules;
};

struct FuseNorms : ingot::impl::FuseNormsPassBase<FuseNorms> {
  LogicalResult initialize(MLIRContext *context) override {
    rules.read(context, norms::populateGeneratedPDLLPatterns<>);
    return success();
  }
  void runOnOperation() override { rules.applyTo(getOperation()); }
  patterns::OurPatterns rules;
};

struct AppendEpilogues : ingot::impl::AppendEpiloguesPassBase<AppendEpilogues> {
  using AppendEpiloguesPassBase::AppendEpiloguesPassBase;
  LogicalResult initialize(MLIRContext *context) override {
    rules.read(context, append_epilogues::populateGeneratedPDLLPatterns<>);
    return success();
  }
  void runOnOperation() override { rules.applyTo(getOperation(), targetOf(device)); }
  patterns::OurPatterns rules;
};

struct NormPrologues : ingot::impl::NormProloguesPassBase<NormPrologues> {
  using NormProloguesPassBase::NormProloguesPassBase;
  LogicalResult initialize(MLIRContext *context) override {
    rules.read(context, norm_prologues::populateGeneratedPDLLPatterns<>);
    return success();
  }
  void runOnOperation() override { rules.applyTo(getOperation(), targetOf(device)); }
  patterns::OurPatterns rules;
};

} // namespace
