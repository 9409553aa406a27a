//===- AddFamily.h - Registers families from plugins --------------------------===//
#pragma once

#include "models/Family.h"

namespace ingot::models {

/// Adds a family to `families()`; none of its architectures may be registered already. Its text must live as
/// long as the process.
void addFamily(const Family &family);

} // namespace ingot::models
