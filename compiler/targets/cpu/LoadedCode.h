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
  /// Loads a shared object from its bytes. Errors: E0447, exit code 3: there is no /proc, or the system forbids
  /// executable mappings.
  static Result<LoadedCode> load(llvm::StringRef image);
  LoadedCode(LoadedCode &&other);
  LoadedCode &operator=(LoadedCode &&) = delete;
  ~LoadedCode();

  /// Returns the kernel of that name, or null if the object does not export it.
  KernelFn function(const std::string &name) const;

private:
  LoadedCode() = default;
  int file = -1; ///< open while the object is loaded, since dlopen identifies objects by name
  void *handle = nullptr;
};

} // namespace ingot::compiler
