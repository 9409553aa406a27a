//===- DeviceOptions.h - Targets and KV cache types -------------------------===//
#pragma once

#include "compiler/options/Options.h"

namespace ingot::compiler {

/// Returns "sm_80, sm_89, …", with the given separator.
std::string architectureNames(const char *separator);
/// Returns "cpu:avx2, cpu:avxvnni, …".
std::string levelTargets();

/// Adds a value of --target. "cuda" means every known architecture, and PTX for future ones. Errors: E0402.
Result<void> addTarget(const std::string &target, CompileOptions &options);

/// Applies --kv to each kind of device that supports the type; the other kind keeps its default
/// (Compatibility.h has the compatibility matrix). Errors: E0403.
Result<void> chooseKv(CompileOptions &options);

} // namespace ingot::compiler
