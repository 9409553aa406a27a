//===- CachedCode.h - The code cache, as code generators see it -----------===//
#pragma once

#include "codegen/ObjectCache.h"
#include "compiler/files/CodeCache.h"

#include <string>
#include <vector>

namespace ingot::compiler {

/// Stores objects in a folder (CodeCache.h), which must outlive it.
class CachedCode final : public ObjectCache {
public:
  /// `generator` is part of each key. It identifies the code generator if the texts of a key do not. Code for CPUs
  /// depends on the build of Ingot, so `generator` is compilerIdentity(). The texts of programs for GPUs are CUDA C++
  /// and already identify the compiler that reads it.
  CachedCode(CodeCache &files, std::string generator)
      : files(files), generator(std::move(generator)) {}

  std::optional<std::string> lookup(llvm::ArrayRef<std::string> texts) override {
    return files.lookup(keyOf(texts));
  }
  void store(llvm::ArrayRef<std::string> texts, llvm::StringRef code) override {
    (void)files.store(keyOf(texts), code);
  }

private:
  CodeCache::Key keyOf(llvm::ArrayRef<std::string> texts) const {
    std::vector<std::string> all{generator};
    all.insert(all.end(), texts.begin(), texts.end());
    return CodeCache::keyOf(all);
  }

  CodeCache &files;
  std::string generator;
};

} // namespace ingot::compiler
