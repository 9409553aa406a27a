//===- ElfImage.h - Reads the shared objects with an engine's kernels -----===//
//
// The reader accepts only what such an object needs: ELF64 x86-64, ET_DYN, a few PT_LOAD segments,
// one .dynsym reached through PT_DYNAMIC. It rejects relocations, undefined symbols, needed
// libraries, constructors, TLS and writable data: code that needs none of these can be mapped
// anywhere without a linker.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Views into the bytes that it was parsed from.
struct ElfImage {
  struct Load {
    uint64_t fileOffset, fileSize; ///< inside the object
    uint64_t address, memorySize;  ///< relative to the base at which the image is mapped
    bool execute;
  };
  struct Symbol {
    std::string_view name;
    uint64_t address;
  };

  std::vector<Load> loads;     ///< ascending; no two share a page
  std::vector<Symbol> symbols; ///< defined functions, sorted by name
  uint64_t span = 0;           ///< bytes of address space, whole pages

  /// Returns the address of a function that lies in executable bytes of the file.
  std::optional<uint64_t> find(std::string_view name) const;
};

/// Errors, exit code 3: E0336 not such an object; E0337 damaged program headers; E0822 to E0825
/// damaged segments; E0338 writable data; E0830 writable code; E0339 needs a linker; E0826 to E0829
/// damaged symbols; E0340 undefined symbols. `label` names the object in messages.
Result<ElfImage> parseElf(std::span<const std::byte> bytes, const std::string &label);

} // namespace ingot::runtime
