//===- Diagnostics.cpp - See Diagnostics.h --------------------------------===//
#include "compiler/driver/report/Diagnostics.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

Diagnostics::Diagnostics(const CompileOptions &options, MLIRContext &context) : options(options) {
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

void Diagnostics::note(const std::string &line) const {
  if (!options.quiet)
    llvm::errs() << line << "\n";
}

Error Diagnostics::compilerError(std::string what) const {
  if (first().find("body of ") != std::string::npos) // a kernel that the user supplied
    return {ExitCode::File, "E0497", std::move(what), first(),
            "correct that code; docs/kernel-from-outside.md lists what it may use"};
  if (options.from != Phase::Checkpoint)
    return {ExitCode::File, "E0497", std::move(what), first(),
            "correct " + options.fromFile +
                "; if it is unmodified, this is a bug in ingot: please report it"};
  return {ExitCode::Internal, "E0490", std::move(what), first(),
          options.insertions.empty() && options.plugins.empty()
              ? "this is a bug in ingot: please report it with the checkpoint's config"
              : std::string("if it fails without ") +
                    (options.insertions.empty() ? "--plugin" : "--insert") +
                    " too, this is a bug in ingot: please report it"};
}
