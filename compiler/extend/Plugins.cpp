//===- Plugins.cpp - See Plugins.h ----------------------------------------===//
#include "compiler/extend/Plugins.h"

#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

using namespace ingot;

Result<void> extend::loadPlugin(const std::string &path) {
  auto plugin = mlir::PassPlugin::load(path);
  if (!plugin)
    return Error{ExitCode::File, "E0415", "cannot load the plugin " + path,
                 llvm::toString(plugin.takeError()),
                 "build it against LLVM " LLVM_VERSION_STRING
                 " and libingot-compiler.so (docs/extending.md)"};
  // Classes of another LLVM have other layouts: their first use would be a crash, not an error.
  if (plugin->getPluginVersion() != LLVM_VERSION_STRING)
    return Error{ExitCode::File, "E0420", "the plugin " + path + " was not built for this compiler",
                 "it says LLVM " + plugin->getPluginVersion().str() +
                     ", the compiler has LLVM " LLVM_VERSION_STRING,
                 "build it again, with LLVM_VERSION_STRING as its version (docs/extending.md)"};
  plugin->registerPassRegistryCallbacks();
  return {};
}
