//===- KernelModule.h - Kernels from text, and aligned buffers -------------===//
//
// Shared by the generator tests of every target.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::test {

/// Zeroed memory, 64-byte aligned, followed by a guard that `intact` checks.
template <typename T> class Buffer {
public:
  explicit Buffer(size_t count) : count(count), size((count * sizeof(T) + 63) / 64 * 64) {
    memory.reset(static_cast<char *>(std::aligned_alloc(64, size + 64)));
    std::memset(memory.get(), 0, size);
    std::memset(memory.get() + size, 0x5a, 64);
  }
  T *data() { return reinterpret_cast<T *>(memory.get()); }
  const T *data() const { return reinterpret_cast<const T *>(memory.get()); }
  T &operator[](size_t i) { return data()[i]; }
  const T &operator[](size_t i) const { return data()[i]; }
  size_t bytes() const { return count * sizeof(T); }
  bool intact() const {
    for (int i = 0; i < 64; ++i)
      if (memory.get()[size + i] != 0x5a)
        return false;
    return true;
  }
  bool operator==(const Buffer &other) const {
    return count == other.count && !std::memcmp(data(), other.data(), bytes());
  }

private:
  struct Free {
    void operator()(char *p) const { std::free(p); }
  };
  size_t count, size;
  std::unique_ptr<char, Free> memory;
};

/// Kernel IR, parsed and verified.
class KernelModule {
public:
  explicit KernelModule(const std::string &text);
  ~KernelModule();

  /// Returns the kernels. A test that needs more than `anchor()` includes the op family's header
  /// (dialects/kernel/ops/Structure.h).
  llvm::ArrayRef<kernel::FuncOp> kernels() const;
  /// Returns the anchor op of the first kernel.
  mlir::Operation *anchor() const;

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<kernel::FuncOp> list;
};

} // namespace ingot::test
