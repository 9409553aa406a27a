//===- GlobalMemory.cpp - Named buffers, and the last writer of each byte --===//
#include "emulator/host/GlobalMemory.h"

namespace ingot::emulator {

constexpr size_t kPage = 4096; ///< guard pages between buffers: an access past an end hits no other
                               ///< buffer

void *GlobalMemory::allocate(size_t bytes, const std::string &name, bool constant) {
  // LazyArray aborts if there is no memory. The caller must report that instead, so it is tried here first.
  void *probe = mmap(nullptr, bytes + 3 * kPage, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED)
    return nullptr;
  munmap(probe, bytes + 3 * kPage);
  LazyArray<char> memory(bytes + 3 * kPage - 1);
  char *base = memory.data() + kPage;
  const bool owned = checked && !constant;
  buffers.emplace(base,
                  Buffer{base, bytes, name, constant, std::move(memory),
                         owned ? LazyArray<uint64_t>((bytes + 1) / 2) : LazyArray<uint64_t>()});
  return base;
}

void GlobalMemory::free(void *address) { buffers.erase(static_cast<char *>(address)); }

Buffer *GlobalMemory::before(const void *p) {
  auto after = buffers.upper_bound(const_cast<char *>(static_cast<const char *>(p)));
  return after == buffers.begin() ? nullptr : &std::prev(after)->second;
}

void GlobalMemory::wroteFromHost(void *to, size_t bytes) {
  Buffer *buffer = checked ? before(to) : nullptr;
  if (!buffer || !buffer->owner.size() || !bytes)
    return;
  const size_t first = size_t(static_cast<char *>(to) - buffer->base);
  for (size_t i = first / 2; i <= (first + bytes - 1) / 2 && i < buffer->owner.size(); i++)
    buffer->owner[i] = Buffer::ownerOf(0, 0);
}

} // namespace ingot::emulator
