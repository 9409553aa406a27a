//===- FileFusions.cpp - The passes whose patterns are files --------------===//
//
// Each pass applies the file of its name in passes/patterns.
//===----------------------------------------------------------------------===//
#include "dialects/lm/ops/Model.h"
#include "passes/Target.h"
#include "passes/patterns/OurPatterns.h"

#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"

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

namespace {

struct FuseGateUp : ingot::impl::FuseGateUpPassBase<FuseGateUp> {
  LogicalResult initialize(MLIRContext *context) override { return rules.read(context, "GateUp"); }
  void runOnOperation() override { rules.applyTo(getOperation()); }
  patterns::OurPatterns rules;
};

struct FuseResidual : ingot::impl::FuseResidualPassBase<FuseResidual> {
  LogicalResult initialize(MLIRContext *context) override {
    return rules.read(context, "Residual");
  }
  void runOnOperation() override { rules.applyTo(getOperation()); }
  patterns::OurPatterns rules;
};

struct FuseNorms : ingot::impl::FuseNormsPassBase<FuseNorms> {
  LogicalResult initialize(MLIRContext *context) override { return rules.read(context, "Norms"); }
  void runOnOperation() override { rules.applyTo(getOperation()); }
  patterns::OurPatterns rules;
};

struct AppendEpilogues : ingot::impl::AppendEpiloguesPassBase<AppendEpilogues> {
  using AppendEpiloguesPassBase::AppendEpiloguesPassBase;
  LogicalResult initialize(MLIRContext *context) override {
    return rules.read(context, "AppendEpilogues");
  }
  void runOnOperation() override { rules.applyTo(getOperation(), targetOf(device)); }
  patterns::OurPatterns rules;
};

struct NormPrologues : ingot::impl::NormProloguesPassBase<NormPrologues> {
  using NormProloguesPassBase::NormProloguesPassBase;
  LogicalResult initialize(MLIRContext *context) override {
    return rules.read(context, "NormPrologues");
  }
  void runOnOperation() override { rules.applyTo(getOperation(), targetOf(device)); }
  patterns::OurPatterns rules;
};

} // namespace
