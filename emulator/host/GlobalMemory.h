//===- GlobalMemory.h - Named buffers, and the last writer of each byte ----===//
#pragma once

#include "emulator/host/LazyArray.h"

#include <cstdint>
#include <map>
#include <string>

namespace ingot::emulator {

struct Buffer {
  char *base;
  size_t bytes;
  std::string name;
  bool constant;
  LazyArray<char> memory;
  /// For each two bytes, the launch and block that last wrote them; 0: none. Maintained only if checked.
  LazyArray<uint64_t> owner;

  static uint64_t ownerOf(uint32_t launch, uint32_t block) {
    return uint64_t(launch) << 32 | (uint64_t(block) + 1);
  }
  static uint32_t launchOf(uint64_t owner) { return uint32_t(owner >> 32); }
  static uint32_t blockOf(uint64_t owner) { return uint32_t(owner) - 1; }
};

class GlobalMemory {
public:
  explicit GlobalMemory(bool checked) : checked(checked) {}

  void *allocate(size_t bytes, const std::string &name, bool constant); ///< null: out of memory
  void free(void *address);
  /// Returns the buffer that begins at or before p, or null. The caller checks whether p is inside it.
  Buffer *before(const void *p);
  void wroteFromHost(void *to, size_t bytes);

  /// The last launch that was not programmatic: writes before it are complete.
  uint32_t completeBefore = 0;

private:
  bool checked;
  std::map<char *, Buffer> buffers;
};

} // namespace ingot::emulator
