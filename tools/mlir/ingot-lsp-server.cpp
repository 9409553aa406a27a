//===- ingot-lsp-server.cpp - Language server for Ingot's IR --------------===//
//
// This is mlir-lsp-server with Ingot's dialects: errors as you type, definitions, uses and hover.
// An editor's MLIR extension takes the path of this program (docs/debugging.md).
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ingot::registerDialects(registry);
  registry.insert<mlir::func::FuncDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
