//===- KernelModule.cpp - See KernelModule.h ------------------------------===//
#include "KernelModule.h"
#include "dialects/kernel/ops/Structure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace ingot;
using ingot::test::KernelModule;

KernelModule::KernelModule(const std::string &text) {
  context.loadDialect<kernel::KernelDialect, lm::LmDialect, mlir::arith::ArithDialect,
                      mlir::math::MathDialect>();
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module && succeeded(mlir::verify(*module))) << text;
  if (module)
    for (auto kernel : module->getOps<kernel::FuncOp>())
      list.push_back(kernel);
}
KernelModule::~KernelModule() = default;

llvm::ArrayRef<kernel::FuncOp> KernelModule::kernels() const { return list; }

mlir::Operation *KernelModule::anchor() const { return kernel::FuncOp(list.front()).anchor(); }
