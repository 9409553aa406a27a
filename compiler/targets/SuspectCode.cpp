//===- SuspectCode.cpp - See SuspectCode.h --------------------------------===//
#include "compiler/targets/SuspectCode.h"
#include "compiler/console/CrashWords.h"
#include "dialects/kernel/ops/Custom.h"
#include "dialects/kernel/ops/Structure.h"

#include <map>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

std::function<void(StringRef)> compiler::suspectCode(ArrayRef<kernel::FuncOp> kernels,
                                                     const std::string &target) {
  struct Known {
    std::string words;
    Whose whose;
  };
  std::map<std::string, Known> known; // threads have no part in the kernels themselves
  for (kernel::FuncOp fn : kernels) {
    auto custom = dyn_cast<kernel::CustomOp>(fn.anchor());
    known[fn.getSymName().str()] = {custom ? "its body is that of " + custom.getOrigin().str()
                                           : "it computes " +
                                                 fn.anchor()->getName().getStringRef().str(),
                                    custom ? Whose::Theirs : Whose::Ours};
  }
  return [known, target](StringRef kernel) {
    auto found = known.find(kernel.str());
    if (kernel.empty())
      suspect("");
    else if (found == known.end())
      suspect("the code generation of " + kernel.str() + " for " + target, "it makes weights",
              Whose::Ours);
    else
      suspect("the code generation of @" + kernel.str() + " for " + target, found->second.words,
              found->second.whose);
  };
}
