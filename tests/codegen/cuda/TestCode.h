//===- TestCode.h - The cache of GPU programs that test runs share --------===//
#pragma once

#include "compiler/targets/CachedCode.h"

#include <cstdlib>
#include <filesystem>

namespace ingot::codegen::cuda::test {

/// Returns the cache in the folder that INGOT_DEV_CACHE names (`dev test` sets it), else in the temporary folder;
/// null if neither can be written. A program takes clang a second to compile, and most programs are the same in every
/// run and in several tests.
inline ObjectCache *testCode() {
  static auto files = [] {
    const char *folder = std::getenv("INGOT_DEV_CACHE");
    return compiler::CodeCache::open(
        folder ? folder : (std::filesystem::temp_directory_path() / "ingot-test-code").string());
  }();
  if (!files)
    return nullptr;
  static compiler::CachedCode code(*files, "");
  return &code;
}

} // namespace ingot::codegen::cuda::test
