//===- GridTable.h - A grid's entries in the memory of a kernel --------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::codegen::cpu {

/// Returns the address of a table with one 32-bit word per entry. If an entry has eight magnitudes, byte i holds
/// magnitude i in its lower half and i + 4 in its upper half; if it has four, byte i holds magnitude i.
inline mlir::Value gridTable(KernelBuilder &k, const NumericFormat &format) {
  const Grid &grid = *format.grid;
  llvm::SmallVector<int32_t> words;
  for (int index = 0; index < grid.count(); ++index) {
    uint32_t word = 0;
    for (int i = 0; i < grid.run; ++i)
      word |= uint32_t(grid.magnitude(index, i)) << (8 * (i % 4) + i / 4 * 4);
    words.push_back(int32_t(word));
  }
  return k.constantWords("grid_" + std::string(format.name), words);
}

} // namespace ingot::codegen::cpu
