//===- LoadedCode.h - Loads freshly compiled kernels ----------------------===//
#pragma once

#include "runtime/abi/KernelAbi.h"
#include "runtime/error/Error.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace ingot::compiler {

/// A shared object in memory, loaded for the lifetime of this object.
class LoadedCode {
public:
  /// Error: E0447, exit 3 (no /proc, or the system forbids executable mappings).
  static Result<LoadedCode> load(llvm::StringRef image);
  LoadedCode(LoadedCode &&other);
  LoadedCode &operator=(LoadedCode &&) = delete;
  ~LoadedCode();

  /// Null if the object exports no such kernel.
  KernelFn function(const std::string &name) const;

private:
  LoadedCode() = default;
  int file = -1; ///< kept open while loaded, because dlopen compares names
  void *handle = nullptr;
};

} // namespace ingot::compiler
