//===- EmitText.cpp - See EmitText.h --------------------------------------===//
#include "compiler/driver/emit/EmitText.h"
#include "compiler/driver/emit/BriefText.h"
#include "compiler/options/OutputPlace.h"
#include "dialects/kernel/ops/Structure.h"
#include "dialects/lm/ops/Model.h"
#include "runtime/error/Suggest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

/// Returns a copy of the module without its programs: all kernels, or only the one of that name.
static OwningOpRef<ModuleOp> kernelsOf(ModuleOp module, StringRef name) {
  OwningOpRef<ModuleOp> kernels = module.clone();
  for (Operation &op : llvm::make_early_inc_range(*kernels->getBody()))
    if (auto kernel = dyn_cast<FunctionOpInterface>(op);
        !kernel || (isa<kernel::FuncOp>(op) && !name.empty() && kernel.getName() != name))
      op.erase();
  return kernels;
}

std::string compiler::irText(ModuleOp module) {
  OpPrintingFlags flags;
  if (!module.getOps<lm::ModelOp>().empty())
    flags.printNameLocAsPrefix();
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, flags);
  return text;
}

Result<void> compiler::chooseKernel(SmallVectorImpl<kernel::FuncOp> &kernels,
                                    const std::string &name) {
  if (name.empty())
    return {};
  std::vector<std::string> names;
  for (kernel::FuncOp kernel : kernels)
    names.push_back(kernel.getSymName().str());
  llvm::erase_if(kernels, [&](kernel::FuncOp kernel) { return kernel.getSymName() != name; });
  if (kernels.empty())
    return Error{ExitCode::Usage, "E0475", "there is no kernel '" + name + "'",
                 "available: " + llvm::join(names, ", "),
                 didYouMean(name, names, "give one of them")};
  return {};
}

Result<bool> compiler::emitIfAsked(const CompileOptions &options, Emit stage, ModuleOp module) {
  if (options.emit != stage)
    return false;
  if (stage == Emit::Kernel) {
    SmallVector<kernel::FuncOp> kernels(module.getOps<kernel::FuncOp>());
    if (auto ok = chooseKernel(kernels, options.kernel); !ok)
      return ok.error();
  }
  std::string printed = irText(stage == Emit::Kernel ? *kernelsOf(module, options.kernel) : module);
  if (auto ok = writeText(options.brief ? briefly(printed) : printed, options.output); !ok)
    return ok.error();
  return true;
}
