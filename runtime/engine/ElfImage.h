//===- ElfImage.h - Reads the shared objects that hold an engine's kernels ===//
//
// Only what such an object needs is accepted: ELF64 x86-64, ET_DYN, a few PT_LOAD
// segments, one .dynsym reached through PT_DYNAMIC. Relocations, undefined
// symbols, needed libraries, constructors, TLS and writable data are refused: code that
// needs none of them can be mapped anywhere without a linker.
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

/// Views into the bytes it was parsed from.
struct ElfImage {
  struct Load {
    uint64_t fileOffset, fileSize; ///< inside the object
    uint64_t address, memorySize;  ///< from the base the image is mapped at
    bool execute;
  };
  struct Symbol {
    std::string_view name;
    uint64_t address;
  };

  std::vector<Load> loads;     ///< ascending; no two share a page
  std::vector<Symbol> symbols; ///< defined functions, sorted by name
  uint64_t span = 0;           ///< bytes of address space, whole pages

  /// Address of a function that lies in executable bytes of the file.
  std::optional<uint64_t> find(std::string_view name) const;
};

/// Errors, exit 3: E0336 no such object, E0337 damaged program headers, E0338 writable
/// data, E0339 needs a linker, E0340 damaged or undefined symbols. `label` names the object.
Result<ElfImage> parseElf(std::span<const std::byte> bytes, const std::string &label);

} // namespace ingot::runtime
