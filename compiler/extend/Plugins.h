//===- Plugins.h - Loading plugins -----------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include "mlir/IR/DialectRegistry.h"

namespace ingot::extend {

/// A loaded plugin, and whether it contains dialects or families in addition to passes.
struct LoadedPlugin {
  bool dialects = false, families = false;
};

/// Loads a plugin for the life of the process and registers its contents; its dialects are added to
/// `dialects`. The plugin describes itself (Plugin.h), or is an MLIR pass plugin, with only passes. Errors:
/// E0415: it cannot be loaded or has no entry point; E0420: it was built for another compiler; E0449: one of
/// its families is already known.
Result<LoadedPlugin> loadPlugin(const std::string &path, mlir::DialectRegistry &dialects);

} // namespace ingot::extend
