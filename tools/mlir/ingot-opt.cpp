//===- ingot-opt.cpp - mlir-opt over Ingot's dialects and passes ----------===//
//
//   --plugin=F.so    registers the plugin's dialects and passes, as --plugin of `ingot compile` does;
//                    crash reproducers may use them
//===----------------------------------------------------------------------===//
#include "compiler/extend/KernelFile.h"
#include "compiler/extend/Plugins.h"
#include "compiler/reference/CheckModel.h"
#include "compiler/reference/interpreter/CheckPlan.h"
#include "compiler/targets/CodeTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

#include <cstdio>

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ingot::registerDialects(registry);
  registry.insert<mlir::func::FuncDialect>();
  mlir::registerTransformsPasses();
  ingot::compiler::registerTargets();
  ingot::registerPassesAndPipelines();
  ingot::reference::registerModelCheckPass();
  ingot::reference::interpreter::registerCheckPlanPass();
  ingot::extend::registerAttachKernel();
  std::vector<char *> others;
  for (char *argument : llvm::ArrayRef(argv, size_t(argc))) {
    llvm::StringRef path = argument;
    if (!path.consume_front("--plugin=")) {
      others.push_back(argument);
      continue;
    }
    if (auto loaded = ingot::extend::loadPlugin(path.str(), registry); !loaded) {
      std::fputs(loaded.error().format().c_str(), stderr);
      return static_cast<int>(loaded.error().exit);
    }
  }
  return mlir::asMainReturnCode(mlir::MlirOptMain(static_cast<int>(others.size()), others.data(),
                                                  "Ingot optimizer driver\n", registry));
}
