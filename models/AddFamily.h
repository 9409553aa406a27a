//===- AddFamily.h - Families that plugins bring ------------------------------===//
#pragma once

#include "models/Family.h"

namespace ingot::models {

/// Adds a family to those of `families()`; none of its architectures is known. Its text lives as long as the process.
void addFamily(const Family &family);

} // namespace ingot::models
