//===- TestCode.h - The cache of generated code that test runs share ------===//
#pragma once

#include "codegen/CachedCode.h"

#include <cstdlib>
#include <filesystem>
#include <map>

namespace ingot::test {

/// Returns the cache in the folder that INGOT_DEV_CACHE names (`dev test` sets it), else in the temporary folder.
/// Returns null if neither can be written. Clang takes a second to compile a program for a GPU, and LLVM takes a tenth
/// of a second for a CPU kernel. Most programs and kernels are the same in every run and in several tests. `generator`
/// is passed to CachedCode.
inline ObjectCache *testCode(const std::string &generator = "") {
  static auto files = [] {
    const char *folder = std::getenv("INGOT_DEV_CACHE");
    return compiler::CodeCache::open(
        folder ? folder : (std::filesystem::temp_directory_path() / "ingot-test-code").string());
  }();
  if (!files)
    return nullptr;
  static std::map<std::string, compiler::CachedCode> code;
  return &code.try_emplace(generator, *files, generator).first->second;
}

} // namespace ingot::test
