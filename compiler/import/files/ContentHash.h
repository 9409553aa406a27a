//===- ContentHash.h - One hash over a checkpoint's files -----------------===//
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ingot::import {

/// Returns 32 hex digits of XXH3-128 over the files' bytes and sizes, in the given order. The files are hashed in 16
/// MiB pieces on all threads of the machine, but the result does not depend on their number. The hash detects damage
/// and names cache entries; it is not a defence against attacks. `done` is called with each piece after it is hashed,
/// from any thread.
std::string hashContent(const std::vector<std::span<const std::byte>> &files,
                        void (*done)(std::span<const std::byte>) = nullptr);

} // namespace ingot::import
