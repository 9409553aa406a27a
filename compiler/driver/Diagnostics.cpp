//===- Diagnostics.cpp - See Diagnostics.h --------------------------------===//
#include "compiler/driver/Diagnostics.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {
/// `--remarks`: a line per decision of the fusion passes.
class RemarkLines : public remark::detail::MLIRRemarkStreamerBase {
public:
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    remark.print(llvm::errs());
    llvm::errs() << "\n";
  }
};

} // namespace

Diagnostics::Diagnostics(const CompileOptions &options, MLIRContext &context) : options(options) {
  if (!options.remarks.empty()) {
    remark::RemarkCategories categories;
    if (options.remarks != "missed")
      categories.passed = "fusion";
    if (options.remarks != "passed")
      categories.missed = "fusion";
    (void)remark::enableOptimizationRemarks(context, std::make_unique<RemarkLines>(),
                                            std::make_unique<remark::RemarkEmittingPolicyAll>(),
                                            categories);
  }
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      llvm::raw_string_ostream(errors) << diagnostic << "\n";
    else if (!this->options.quiet)
      llvm::errs() << (diagnostic.getSeverity() == DiagnosticSeverity::Warning ? "warning: " : "")
                   << diagnostic << "\n";
    return success();
  });
}

void Diagnostics::warn(const std::string &line) const {
  if (!options.quiet)
    llvm::errs() << "warning: " << line << "\n";
}

Error Diagnostics::compilerError(std::string what) const {
  return {ExitCode::Internal, "E0490", std::move(what), first(),
          options.insertions.empty()
              ? "this is a bug of ingot: please report it with the checkpoint's config"
              : "if it fails without --insert as well, it is a bug of ingot: please report it"};
}
