//===- ObjectCache.h - A cache of generated code, one kernel at a time ----===//
//
// Code generators look up each kernel separately. If one kernel of a program has changed, only that
// kernel is compiled again. codegen/CachedCode.h is the cache on disk.
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace ingot {

/// Maps the texts from which code was generated to that code. For one build of the compiler, the texts determine the
/// code: they are the whole source of the kernel, the options and the target. Only one thread may call the cache at a
/// time.
class ObjectCache {
public:
  virtual ~ObjectCache() = default;
  virtual std::optional<std::string> lookup(llvm::ArrayRef<std::string> texts) = 0;
  /// Stores the code. A failure is not reported: the next compilation generates the code again.
  virtual void store(llvm::ArrayRef<std::string> texts, llvm::StringRef code) = 0;
};

} // namespace ingot
