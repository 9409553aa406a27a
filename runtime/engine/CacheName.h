//===- CacheName.h - What a compiled checkpoint is called in the cache ----===//
//
//   tiny-0123456789abcdef.ingot
//
// The digits hash the checkpoint's content, the compiler library's and the options: a changed file, option or compiler
// is another engine, and nothing stale is ever served. `ingot run`, `ingot compile --cache` and the Python package find
// the same one.
//===----------------------------------------------------------------------===//
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ingot::runtime {

/// XXH3-128 in hex, of a compiler library for one.
std::string fingerprint(std::span<const std::byte> bytes);

/// `arguments` are those of `ingot compile` that decide what is in the engine, in the order of its --help.
std::string cacheName(const std::string &model, const std::string &contentHash,
                      const std::string &compiler, const std::vector<std::string> &arguments);

} // namespace ingot::runtime
