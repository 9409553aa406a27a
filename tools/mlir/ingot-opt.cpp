//===- ingot-opt.cpp - mlir-opt over Ingot's dialects and passes ----------===//
#include "compiler/reference/CheckModel.h"
#include "compiler/reference/machine/CheckPlan.h"
#include "compiler/targets/CodeTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ingot::registerDialects(registry);
  registry.insert<mlir::func::FuncDialect>();
  mlir::registerTransformsPasses();
  ingot::compiler::registerTargets();
  ingot::registerPassesAndPipelines();
  ingot::reference::registerModelCheckPass();
  ingot::reference::machine::registerSlowCheckPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Ingot optimizer driver\n", registry));
}
