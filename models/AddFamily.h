//===- AddFamily.h - Registers families from plugins --------------------------===//
#pragma once

#include "models/Family.h"

namespace ingot::models {

/// Adds a family to `families()`. None of its architectures may be registered already. The strings of `family` must
/// live as long as the process.
void addFamily(const Family &family);

} // namespace ingot::models
