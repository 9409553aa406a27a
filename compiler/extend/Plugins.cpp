//===- Plugins.cpp - See Plugins.h ----------------------------------------===//
#include "compiler/extend/Plugins.h"

#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

#include <dlfcn.h>

using namespace ingot;
using llvm::StringRef;

Result<void> extend::loadPlugin(const std::string &path) {
  // LLVM resolves a symbol when it is first called, where a missing one ends the process.
  const bool whole = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string missing = whole ? "" : dlerror();
  auto plugin = mlir::PassPlugin::load(path);
  const bool thisLlvm = plugin && plugin->getPluginVersion() == LLVM_VERSION_STRING;
  if (!plugin || (!whole && thisLlvm)) {
    std::string why = missing;
    if (std::string other = plugin ? "" : llvm::toString(plugin.takeError()); whole)
      why = StringRef(other).contains("entry point not found")
                ? path + " exports no mlirGetPassPluginInfo: plugin entry point not found"
                : other;
    return Error{ExitCode::File, "E0415", "cannot load the plugin " + path, why,
                 "build it against LLVM " LLVM_VERSION_STRING
                 " and libingot-compiler.so (docs/extending.md)"};
  }
  // Classes of another LLVM have other layouts: their first use would be a crash, not an error.
  if (!thisLlvm)
    return Error{ExitCode::File, "E0420", "the plugin " + path + " was not built for this compiler",
                 "it says LLVM " + plugin->getPluginVersion().str() +
                     ", the compiler has LLVM " LLVM_VERSION_STRING,
                 "build it again, with LLVM_VERSION_STRING as its version (docs/extending.md)"};
  plugin->registerPassRegistryCallbacks();
  return {};
}
