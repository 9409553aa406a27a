//===- ingot-reduce.cpp - Reduction of a failing program ------------------===//
//
// This is mlir-reduce with Ingot's dialects and passes. It removes the parts of a program that a
// test script does not need to find the program interesting (docs/debugging.md).
//===----------------------------------------------------------------------===//
#include "compiler/targets/CodeTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ingot::registerDialects(registry);
  registry.insert<mlir::func::FuncDialect>();
  mlir::registerTransformsPasses();
  ingot::compiler::registerTargets();
  ingot::registerPassesAndPipelines();
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
