//===- FileFusions.cpp - The passes whose patterns are files --------------===//
//
// A fusion that can be expressed as patterns is a file in passes/patterns, in the language that users write
// (docs/patterns.md). The build embeds each file in this library:
//
//   passes/patterns/Residual.pdll ──mlir-pdll -x=cpp──▶ passes/patterns/Residual.h.inc
//===----------------------------------------------------------------------===//
#include "dialects/lm/ops/Model.h"
#include "passes/Target.h"
#include "passes/lowering/Compositions.h"
#include "passes/patterns/Driver.h"

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

// In each file that mlir-pdll generates, the function is called populateGeneratedPDLLPatterns. The namespaces keep
// these functions apart.
namespace append_epilogues {
#include "passes/patterns/AppendEpilogues.h.inc"
} // namespace append_epilogues
namespace gate_up {
#include "passes/patterns/GateUp.h.inc"
} // namespace gate_up
namespace norm_prologues {
#include "passes/patterns/NormPrologues.h.inc"
} // namespace norm_prologues
namespace norms {
#include "passes/patterns/Norms.h.inc"
} // namespace norms
namespace residual {
#include "passes/patterns/Residual.h.inc"
} // namespace residual

namespace {

/// A file of patterns: its name, and the generated function that adds them.
struct File {
  StringRef name;
  void (*add)(RewritePatternSet &);
};

LogicalResult apply(const File &file, lm::ModelOp model) {
  RewritePatternSet all(model.getContext());
  file.add(all);
  patterns::Driver driver(all.getPDLPatterns().getModule());
  driver.applyTo(model);
  return driver.check(model, file.name);
}

/// Applies patterns on launches, which query the target.
LogicalResult apply(const File &file, ModuleOp module, const Target &target) {
  RewritePatternSet all(module.getContext());
  file.add(all);
  Compositions compositions(module, target);
  patterns::Driver driver(all.getPDLPatterns().getModule(), {}, &compositions);
  driver.offer(Compositions::launchesOf(module));
  compositions.finish();
  return driver.check(module, file.name);
}

struct FuseGateUp : ingot::impl::FuseGateUpPassBase<FuseGateUp> {
  void runOnOperation() override {
    if (failed(apply({"passes/patterns/GateUp.pdll", gate_up::populateGeneratedPDLLPatterns<>},
                     getOperation())))
      signalPassFailure();
  }
};

struct FuseResidual : ingot::impl::FuseResidualPassBase<FuseResidual> {
  void runOnOperation() override {
    if (failed(apply({"passes/patterns/Residual.pdll", residual::populateGeneratedPDLLPatterns<>},
                     getOperation())))
      signalPassFailure();
  }
};

struct FuseNorms : ingot::impl::FuseNormsPassBase<FuseNorms> {
  void runOnOperation() override {
    if (failed(apply({"passes/patterns/Norms.pdll", norms::populateGeneratedPDLLPatterns<>},
                     getOperation())))
      signalPassFailure();
  }
};

struct AppendEpilogues : ingot::impl::AppendEpiloguesPassBase<AppendEpilogues> {
  using AppendEpiloguesPassBase::AppendEpiloguesPassBase;
  void runOnOperation() override {
    if (failed(apply({"passes/patterns/AppendEpilogues.pdll",
                      append_epilogues::populateGeneratedPDLLPatterns<>},
                     getOperation(), targetOf(device))))
      signalPassFailure();
  }
};

struct NormPrologues : ingot::impl::NormProloguesPassBase<NormPrologues> {
  using NormProloguesPassBase::NormProloguesPassBase;
  void runOnOperation() override {
    if (failed(apply(
            {"passes/patterns/NormPrologues.pdll", norm_prologues::populateGeneratedPDLLPatterns<>},
            getOperation(), targetOf(device))))
      signalPassFailure();
  }
};

} // namespace
