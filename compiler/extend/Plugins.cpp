//===- Plugins.cpp - See Plugins.h ----------------------------------------===//
#include "compiler/extend/Plugins.h"
#include "compiler/extend/Plugin.h"
#include "models/AddFamily.h"

#include "mlir/Tools/Plugins/PassPlugin.h"

#include <dlfcn.h>

using namespace ingot;
using namespace ingot::extend;
using llvm::StringRef;

static Error notLoaded(const std::string &path, const std::string &why) {
  return {ExitCode::File, "E0415", "cannot load the plugin " + path, why,
          "build it against LLVM " LLVM_VERSION_STRING
          " and libingot-compiler.so (docs/kernel-from-outside.md)"};
}

// Classes of another build have other layouts, so their first use would crash instead of giving an error.
static Error ofAnother(const std::string &path, const std::string &why) {
  return {ExitCode::File, "E0420", "the plugin " + path + " was not built for this compiler", why,
          "build it again, with this compiler's headers: find_package(Ingot) of "
          "docs/kernel-from-outside.md"};
}

/// Registers the contents of an Ingot plugin.
static Result<LoadedPlugin> add(const std::string &path, const PluginInfo &info,
                                mlir::DialectRegistry &dialects) {
  auto before = llvm::range_size(dialects.getDialectNames());
  PluginRegistry registry{dialects};
  info.addTo(registry);
  LoadedPlugin loaded;
  loaded.dialects = llvm::range_size(dialects.getDialectNames()) != before;
  for (const models::Family &family : registry.families) {
    for (StringRef architecture : family.architectures)
      if (const models::Family *known = models::findFamily(architecture))
        return Error{ExitCode::File, "E0449",
                     "the plugin " + path +
                         " registers an architecture that already exists: " + architecture.str(),
                     "it belongs to the family " + known->name.str(),
                     "rename the plugin's architecture"};
    models::addFamily(family);
    loaded.families = true;
  }
  return loaded;
}

/// Registers an MLIR pass plugin.
static Result<LoadedPlugin> addPasses(const std::string &path, bool whole,
                                      const std::string &missing) {
  auto plugin = mlir::PassPlugin::load(path);
  const bool thisLlvm = plugin && plugin->getPluginVersion() == LLVM_VERSION_STRING;
  if (!plugin || (!whole && thisLlvm)) {
    std::string why = missing;
    if (std::string other = plugin ? "" : llvm::toString(plugin.takeError()); whole)
      why = StringRef(other).contains("entry point not found")
                ? path + " exports neither ingotGetPlugin nor mlirGetPassPluginInfo: "
                         "plugin entry point not found"
                : other;
    return notLoaded(path, why);
  }
  if (!thisLlvm)
    return ofAnother(path, "it was built for LLVM " + plugin->getPluginVersion().str() +
                               ", the compiler has LLVM " LLVM_VERSION_STRING);
  plugin->registerPassRegistryCallbacks();
  return LoadedPlugin{};
}

Result<LoadedPlugin> extend::loadPlugin(const std::string &path, mlir::DialectRegistry &dialects) {
  // LLVM resolves a symbol at its first call, and a missing one then ends the process, so all symbols are
  // resolved here. A plugin of another version may lack some of them, but can still report its version.
  void *opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const bool whole = opened;
  const std::string missing = whole ? "" : dlerror();
  if (!whole)
    opened = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  using Get = PluginInfo (*)();
  const Get get = opened ? reinterpret_cast<Get>(dlsym(opened, "ingotGetPlugin")) : nullptr;
  if (!get)
    return addPasses(path, whole, missing);
  const PluginInfo info = get();
  if (info.api != INGOT_PLUGIN_API || StringRef(info.ingot) != INGOT_PLUGIN_VERSION)
    return ofAnother(path, "it was built for Ingot " + std::string(info.ingot) +
                               ", this is Ingot " INGOT_PLUGIN_VERSION);
  if (StringRef(info.llvm) != LLVM_VERSION_STRING)
    return ofAnother(path, "it was built for LLVM " + std::string(info.llvm) +
                               ", the compiler has LLVM " LLVM_VERSION_STRING);
  return whole ? add(path, info, dialects) : Result<LoadedPlugin>(notLoaded(path, missing));
}
