//===- UniformRoutes.h - Routes for launches that run without their router -===//
#pragma once

#include "runtime/schema/engine_generated.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// Returns a routes buffer (abi/Routes.h) in which `tokens` tokens are spread evenly over all experts.
/// Benchmarks that time a single launch use it, because the last step may have overwritten its real routes.
std::vector<std::byte> uniformRoutes(int64_t experts, int64_t used, int64_t tokens);

/// Returns whether the kernel computes the routes by which other launches find their rows. Its launches run even in a
/// step that is timed without this kernel, because the other launches need the routes.
bool findsRoutes(const fb::Kernel &kernel);

} // namespace ingot::runtime
