//===- Pages.h - The page sizes that engines are laid out for -------------===//
#pragma once

#include <cstdint>

namespace ingot {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t(2) << 20; ///< on x86-64

} // namespace ingot
