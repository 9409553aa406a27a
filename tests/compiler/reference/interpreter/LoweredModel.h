//===- LoweredModel.h - The plan of a small model ---------------------------===//
#pragma once

#include "compiler/targets/CodeTarget.h"
#include "dialects/plan/ops/Program.h"
#include "tests/SourceDir.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "gtest/gtest.h"

#include <string>

namespace ingot::tests {

/// A model of tests/passes/plan_interpreter/Inputs, lowered.
class LoweredModel {
public:
  explicit LoweredModel(const std::string &lowering, const std::string &name = "model") {
    static const bool registered =
        (compiler::registerTargets(), registerPassesAndPipelines(), true);
    (void)registered;
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceFile<mlir::ModuleOp>(
        test::sourceDir() + "/tests/passes/plan_interpreter/Inputs/" + name + ".mlir", &context);
    mlir::PassManager pm(&context);
    EXPECT_TRUE(module && succeeded(mlir::parsePassPipeline("ingot-fuse," + lowering, pm)) &&
                succeeded(pm.run(*module)));
  }
  mlir::ModuleOp get() { return *module; }
  plan::ProgramOp program() { return *module->getOps<plan::ProgramOp>().begin(); }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace ingot::tests
