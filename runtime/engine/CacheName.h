//===- CacheName.h - File name of a compiled checkpoint in the cache ------===//
//
//   tiny-0123456789abcdef.ingot
//
// The digits are a hash of the checkpoint's content, the compiler library's content and the options: a
// changed file, option or compiler gives another name, so no stale engine is ever used. `ingot run`, `ingot
// compile --cache` and the Python package compute the same name.
//===----------------------------------------------------------------------===//
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Returns the XXH3-128 hash of the bytes in hex; callers hash the compiler library with it.
std::string fingerprint(std::span<const std::byte> bytes);

/// Returns the file name. `contentHash`: hash of the checkpoint. `compiler`: fingerprint of the compiler
/// library. `arguments`: the arguments of `ingot compile` that affect the engine's contents, in the order of
/// its --help.
std::string cacheName(const std::string &model, const std::string &contentHash,
                      const std::string &compiler, const std::vector<std::string> &arguments);

} // namespace ingot::runtime
