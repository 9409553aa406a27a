//===- Plugins.h - Shared objects with the user's ops, passes and families -===//
#pragma once

#include "runtime/error/Error.h"

#include "mlir/IR/DialectRegistry.h"

namespace ingot::extend {

/// What a plugin brought beside passes.
struct LoadedPlugin {
  bool dialects = false, families = false;
};

/// Loads a plugin, for as long as the process lives, and registers what it brings; its dialects are added to `dialects`.
/// It says what that is (Plugin.h), or is one of MLIR's, with passes alone. Errors: E0415 it cannot be loaded or has no
/// entry point, E0420 it was built for another compiler, E0449 a family of it is known already.
Result<LoadedPlugin> loadPlugin(const std::string &path, mlir::DialectRegistry &dialects);

} // namespace ingot::extend
