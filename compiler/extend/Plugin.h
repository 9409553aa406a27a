//===- Plugin.h - Interface of plugins ---------------------------------------===//
//
// A plugin is a shared object that exports one function (docs/kernel-from-outside.md):
//
//   extern "C" ingot::PluginInfo ingotGetPlugin() {
//     return {INGOT_PLUGIN_API, "mine", INGOT_PLUGIN_VERSION, LLVM_VERSION_STRING,
//             [](ingot::PluginRegistry &registry) {
//               registry.dialects.insert<mine::MineDialect>();
//               mlir::PassRegistration<mine::UseMyOps>();
//               registry.addFamily({"mine", kNames, readMine});
//             }};
//   }
//
// Class layouts depend on the headers, so a plugin names the headers with which it was compiled. A compiler
// built from other headers refuses it (E0420).
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/extend/PluginVersion.h"
#include "models/Family.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Config/llvm-config.h"

#include <cstdint>
#include <vector>

namespace ingot {

/// The registry that a plugin adds to. Passes go to MLIR's own registry (mlir::PassRegistration).
struct PluginRegistry {
  mlir::DialectRegistry &dialects;
  std::vector<models::Family> families = {};

  /// Adds a family. Text to which it points lives as long as the plugin, which is never unloaded.
  void addFamily(models::Family family) { families.push_back(family); }
};

constexpr uint32_t INGOT_PLUGIN_API = 1;

/// The first three fields keep their places in every version.
struct PluginInfo {
  uint32_t api;      ///< INGOT_PLUGIN_API
  const char *name;  ///< for messages
  const char *ingot; ///< INGOT_PLUGIN_VERSION: "0.1.0 (headers 1a2b3c4d)"
  const char *llvm;  ///< LLVM_VERSION_STRING
  void (*addTo)(PluginRegistry &registry);
};

} // namespace ingot

/// The function that a plugin defines.
extern "C" __attribute__((visibility("default"))) ingot::PluginInfo ingotGetPlugin();
