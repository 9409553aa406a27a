//===- DeviceOptions.h - Targets, and the types of their caches -------------===//
#pragma once

#include "compiler/console/Options.h"

namespace ingot::compiler {

/// "sm_80, sm_89, …", with what separates them.
std::string architectureNames(const char *separator);
/// "cpu:avx2, cpu:avxvnni, …"
std::string levelTargets();

/// Adds a value of --target: "cuda" is every architecture and PTX for those that are not known yet. E0402.
Result<void> addTarget(const std::string &target, CompileOptions &options);

/// --kv says the type of each kind of device that has it; the other keeps its default (Mixes.h: who has which). E0403.
Result<void> chooseKv(CompileOptions &options);

} // namespace ingot::compiler
