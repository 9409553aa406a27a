//===- Counters.cpp - Atomics; ordering of blocks and launches ---------------===//
//
// Between blocks the checks are coarse. A block's release publishes all of its writes. After any acquire a
// block may read the writes of all blocks that have done a release.
//===----------------------------------------------------------------------===//
#include "emulator/host/Races.h"
#include "emulator/host/Scheduler.h"

#include <algorithm>

namespace ingot::emulator {
namespace {

void checkAtomic(Fiber &fiber, const void *p, u32 bytes, bool write, Site site) {
  u32 place;
  const bool shared = inShared(fiber, p, place);
  if (u64(p) % bytes)
    fail(fiber, Rule::Misaligned, "an atomic of " + std::to_string(bytes) + " bytes", Where(site));
  if (!isChecked(fiber))
    return;
  if (!shared)
    return globalAccess(fiber, p, bytes, write, Where(site), /*atomic=*/true);
  Actor actor = asThread(fiber);
  actor.atomic = true;
  sharedAccess(actor, place, bytes, write, Where(site));
}

void release(Fiber &fiber) {
  LaunchState &launch = *fiber.block->cluster->launch;
  if (launch.checked)
    launch.released[fiber.block->linear] = 1;
}

/// A thread_fence and an atomic, in either order, form a release or an acquire.
void withFence(Fiber &fiber) {
  if (fiber.fenced)
    release(fiber);
  fiber.touchedAtomic = true;
}

} // namespace
} // namespace ingot::emulator

using namespace ingot::emulator;

namespace emu {
inline namespace v1 {

u32 atomic32(u32 *p, u32 value, u32 expected, Atomic kind, Order order, Site site) {
  Fiber &fiber = *self;
  checkAtomic(fiber, p, 4, true, site);
  withFence(fiber);
  if (order != Order::Relaxed)
    release(fiber);
  if (order == Order::AcquireRelease)
    fiber.block->acquired = true;
  if (kind == Atomic::Add)
    return __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
  u32 old = __atomic_load_n(p, __ATOMIC_RELAXED);
  for (;;) {
    u32 next = value;
    if (kind == Atomic::CompareSwap && old != expected)
      return old;
    if (kind == Atomic::MaxUnsigned)
      next = std::max(old, value);
    if (kind == Atomic::MaxSigned)
      next = u32(std::max(int(old), int(value)));
    if (__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return old;
  }
}

u64 atomicAdd64(u64 *p, u64 value, Site site) {
  Fiber &fiber = *self;
  checkAtomic(fiber, p, 8, true, site);
  withFence(fiber);
  return __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
}

u64 atomicMax64(u64 *p, u64 value, Site site) {
  Fiber &fiber = *self;
  checkAtomic(fiber, p, 8, true, site);
  withFence(fiber);
  u64 old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, std::max(old, value), false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED)) {
  }
  return old;
}

void storeRelease(u32 *p, u32 value, Site site) {
  Fiber &fiber = *self;
  checkAtomic(fiber, p, 4, true, site);
  release(fiber);
  __atomic_store_n(p, value, __ATOMIC_RELEASE);
}

u32 loadAcquire(const u32 *p, Site site) {
  Fiber &fiber = *self;
  checkAtomic(fiber, p, 4, false, site);
  fiber.block->acquired = true;
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

Switch spin(const u32 *p, u32 value, Site site) {
  Fiber &fiber = *self;
  Cluster &cluster = *fiber.block->cluster;
  if (loadAcquire(p, site) >= value) {
    cluster.spinsPassed++;
    return {};
  }
  if (!cluster.launch->spec->resident)
    fail(fiber, Rule::Deadlock,
         "spin_until in a launch whose blocks need not run at once: launch it resident",
         Where(site));
  cluster.spinning.push_back(&fiber);
  return suspend(fiber, "spin_until", site);
}

void threadFence() {
  Fiber &fiber = *self;
  fiber.fenced = true;
  if (fiber.touchedAtomic)
    fiber.block->acquired = true;
}

void prefetch(const void *p, Site site) {
  Fiber &fiber = *self;
  if (isChecked(fiber)) // prefetching beyond the buffer is useless
    if (const Buffer *b = fiber.block->cluster->launch->memory->before(p);
        !b || static_cast<const char *>(p) >= b->base + b->bytes)
      report(fiber, Rule::GlobalBounds, "prefetch_l2 outside every buffer", Where(site));
}

void pdlWait() {
  Fiber &fiber = *self;
  fiber.waitedPdl = true;
  fiber.block->cluster->launch->waited.store(true, std::memory_order_relaxed);
}

} // namespace v1
} // namespace emu
