//===- CodeImage.h - Maps native kernels of an engine and looks them up ---===//
//
// A code object is an ELF shared object without relocations, undefined symbols or writable data, so
// loading it only means mapping its PT_LOAD segments at any address:
//
//      engine file                       this process
//      +-----------------+ page-aligned
//      | ELF header      |  --- r-- --->  base + 0x0000   .dynsym .dynstr .rodata
//      | .text           |  --- r-x --->  base + 0x2000   kernels
//      | .dynamic        |  --- r-- --->  base + 0x5000
//      +-----------------+
//
// No page is ever writable and executable, no path named in a file is opened, and no dynamic linker
// runs. Loading takes about 30 us.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/KernelAbi.h"
#include "runtime/engine/EngineFile.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Owns the mapping: functions are valid as long as the image lives. Immutable.
class CodeImage {
public:
  /// Maps the code of one of the engine's CPU programs. Errors: E0384, exit code 3 (no memory, or the
  /// system forbids executable mappings).
  static Result<std::shared_ptr<CodeImage>> map(std::shared_ptr<EngineFile> engine,
                                                const fb::CodeObject &code);

  ~CodeImage();
  CodeImage(const CodeImage &) = delete;
  CodeImage &operator=(const CodeImage &) = delete;

  /// Returns the function of kernel `index` of the program (through `kernel_symbols`); never null.
  KernelFn kernel(size_t index) const { return functions[index]; }

  /// Finds any exported function. Error: E0385, exit code 3.
  Result<KernelFn> symbol(std::string_view name) const;

  uint64_t bytes() const { return length; } ///< of address space

private:
  CodeImage() = default;

  std::shared_ptr<EngineFile> file;
  const fb::CodeObject *object = nullptr;
  std::byte *base = nullptr;
  uint64_t length = 0;
  std::vector<KernelFn> functions;
};

} // namespace ingot::runtime
