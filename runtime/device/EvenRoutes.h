//===- EvenRoutes.h - Routes for launches that run without their router ------===//
#pragma once

#include "runtime/schema/engine_generated.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// A buffer of routes (abi/Routes.h) in which so many tokens go to all experts in turn: what benchmarks of a single
/// launch find where a step has kept something else since.
std::vector<std::byte> evenRoutes(int64_t experts, int64_t used, int64_t tokens);

/// Whether a launch says where others read and write: it is never left out of a step that is measured without it.
bool findsRoutes(const fb::Kernel &kernel);

} // namespace ingot::runtime
