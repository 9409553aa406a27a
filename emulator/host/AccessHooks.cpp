//===- AccessHooks.cpp - Plain loads and stores of checked kernels ------------===//
//
// Checked kernels are compiled with -fsanitize=thread, which inserts a call before every access. This file
// defines these calls; libtsan is not linked. The return address is mapped to the source line.
//===----------------------------------------------------------------------===//
#include "emulator/host/Races.h"
#include "emulator/host/Scheduler.h"

#include <cstring>

namespace ingot::emulator {
namespace {

__attribute__((always_inline)) inline void access(const void *p, u32 bytes, u32 alignment,
                                                  bool write, void *returnAddress) {
  if (!self)
    return;
  Fiber &fiber = *self;
  const Cluster &cluster = *fiber.block->cluster;
  if (!cluster.launch->checked)
    return;
  const Where where(returnAddress);
  u32 place;
  const bool shared = inShared(fiber, p, place);
  // Local variables are on the thread's own stack.
  if (!shared && u64(p) - u64(cluster.stacks.data()) < cluster.stacks.size())
    return;
  if (u64(p) % alignment)
    fail(fiber, Rule::Misaligned,
         std::string(write ? "writes " : "reads ") + std::to_string(bytes) +
             " bytes at an address " + std::to_string(u64(p) % alignment) + " off a multiple of " +
             std::to_string(alignment),
         where);
  if (shared)
    sharedAccess(asThread(fiber), place, bytes, write, where);
  else
    globalAccess(fiber, p, bytes, write, where);
}

} // namespace
} // namespace ingot::emulator

#define ACCESS(p, bytes, alignment, write)                                                         \
  ingot::emulator::access(p, bytes, alignment, write, __builtin_return_address(0))

#define HOOKS(n)                                                                                   \
  INGOT_EMU_API void __tsan_read##n(void *p) { ACCESS(p, n, n, false); }                           \
  INGOT_EMU_API void __tsan_write##n(void *p) { ACCESS(p, n, n, true); }                           \
  INGOT_EMU_API void __tsan_read_write##n(void *p) {                                               \
    ACCESS(p, n, n, false);                                                                        \
    ACCESS(p, n, n, true);                                                                         \
  }
// The compiler calls an access unaligned if its alignment is less than its size, as for a struct. The GPU
// requires the alignment of the type, which the hook does not know; the compiler guarantees it.
#define UNALIGNED_HOOKS(n)                                                                         \
  INGOT_EMU_API void __tsan_unaligned_read##n(void *p) { ACCESS(p, n, 1, false); }                 \
  INGOT_EMU_API void __tsan_unaligned_write##n(void *p) { ACCESS(p, n, 1, true); }                 \
  INGOT_EMU_API void __tsan_unaligned_read_write##n(void *p) {                                     \
    ACCESS(p, n, 1, false);                                                                        \
    ACCESS(p, n, 1, true);                                                                         \
  }

extern "C" {
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
UNALIGNED_HOOKS(2)
UNALIGNED_HOOKS(4)
UNALIGNED_HOOKS(8)
UNALIGNED_HOOKS(16)

INGOT_EMU_API void __tsan_init() {}
INGOT_EMU_API void __tsan_func_entry(void *) {}
INGOT_EMU_API void __tsan_func_exit() {}
INGOT_EMU_API void __tsan_read_range(void *p, size_t n) { ACCESS(p, unsigned(n), 1, false); }
INGOT_EMU_API void __tsan_write_range(void *p, size_t n) { ACCESS(p, unsigned(n), 1, true); }
INGOT_EMU_API void *__tsan_memcpy(void *to, const void *from, size_t n) {
  ACCESS(from, unsigned(n), 1, false);
  ACCESS(to, unsigned(n), 1, true);
  return memcpy(to, from, n);
}
INGOT_EMU_API void *__tsan_memmove(void *to, const void *from, size_t n) {
  ACCESS(from, unsigned(n), 1, false);
  ACCESS(to, unsigned(n), 1, true);
  return memmove(to, from, n);
}
INGOT_EMU_API void *__tsan_memset(void *to, int value, size_t n) {
  ACCESS(to, unsigned(n), 1, true);
  return memset(to, value, n);
}
}
