//===- Plugins.h - Shared objects with the user's passes ------------------===//
#pragma once

#include "runtime/error/Error.h"

namespace ingot::extend {

/// Loads a plugin, for as long as the process lives, and registers its passes. Errors: E0415 it
/// cannot be loaded or has no entry point, E0420 it was built for another LLVM.
Result<void> loadPlugin(const std::string &path);

} // namespace ingot::extend
