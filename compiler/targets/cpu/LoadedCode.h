//===- LoadedCode.h - Kernels that were just compiled, to be called here --===//
#pragma once

#include "runtime/abi/KernelAbi.h"
#include "runtime/error/Error.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace ingot::compiler {

/// A shared object in memory, loaded for as long as this lives.
class LoadedCode {
public:
  /// Error: E0447, exit 3 (no /proc, or the system forbids executable mappings).
  static Result<LoadedCode> load(llvm::StringRef image);
  LoadedCode(LoadedCode &&other);
  LoadedCode &operator=(LoadedCode &&) = delete;
  ~LoadedCode();

  /// Null if the object exports no such kernel.
  cpu::KernelFn function(const std::string &name) const;

private:
  LoadedCode() = default;
  int file = -1; ///< open while it is loaded: dlopen compares names
  void *handle = nullptr;
};

} // namespace ingot::compiler
