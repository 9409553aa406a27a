//===- AsyncCopy.cpp - cp.async, and bulk stores ----------------------------===//
//
// Both belong to the issuing thread. A cp.async takes effect in the wait that covers it, and a bulk store
// reads shared memory in the wait for its reads: as late as the rules allow.
//===----------------------------------------------------------------------===//
#include "emulator/host/Races.h"
#include "emulator/host/Scheduler.h"

#include <algorithm>
#include <cstring>

namespace ingot::emulator {
namespace {

void land(Fiber &fiber, const AsyncCopy &copy) {
  char *to = fiber.block->shared + copy.offset;
  if (copy.bytes)
    memcpy(to, copy.source, copy.bytes);
  memset(to + copy.bytes, 0, copy.size - copy.bytes);
  if (isChecked(fiber))
    markLanded(fiber, copy.offset, copy.size);
}

void readStore(Fiber &fiber, BulkStore &store) {
  if (store.read)
    return;
  memcpy(store.to, fiber.block->shared + store.offset, store.bytes);
  store.read = true;
  if (isChecked(fiber)) {
    u32 &known = ownRow(fiber)[storeEngine(*fiber.block)];
    known = std::max(known, store.clock);
  }
}

} // namespace

void finishCopies(Fiber &fiber) {
  if (fiber.copies.empty() && fiber.stores.empty() && fiber.products.empty())
    return;
  const std::string who = "thread " + std::to_string(fiber.id) + " leaves with ";
  if (!fiber.copies.empty() && isChecked(fiber))
    report(fiber, Rule::CopyNeverWaited, who + "a cp.async under way", {});
  for (BulkStore &store : fiber.stores) {
    if (!store.read)
      report(fiber, Rule::CopyNeverWaited, who + "a bulk store that may still read shared memory",
             {});
    readStore(fiber, store);
  }
  if (!fiber.products.empty())
    report(fiber, Rule::CopyNeverWaited, who + "a wgmma product under way", {});
  forgetCopies(fiber);
}

void forgetCopies(Fiber &fiber) {
  fiber.copies.clear();
  fiber.stores.clear();
  fiber.products.clear();
  fiber.held.clear();
  fiber.sums.clear();
}

} // namespace ingot::emulator

using namespace ingot::emulator;

namespace emu {
inline namespace v1 {

void copyAsync(void *shared, const void *global, u32 size, u32 bytes, Site site) {
  Fiber &fiber = *self;
  u32 place;
  if (!inShared(fiber, shared, place) || place / kWindow != fiber.block->rank || place % size ||
      (bytes && u64(global) % size))
    fail(fiber, Rule::Misaligned,
         "cp.async of " + std::to_string(size) +
             " bytes: both addresses must be multiples of that, "
             "the destination shared memory of the block",
         Where(site));
  if (bytes > size)
    fail(fiber, Rule::BadOperand, "cp.async of more bytes than its size", Where(site));
  const u32 offset = place % kWindow;
  if (isChecked(fiber)) {
    sharedAccess(asThread(fiber), place, size, true, Where(site));
    markInFlight(*fiber.block, offset, size);
    if (bytes)
      globalAccess(fiber, global, bytes, false, Where(site));
  }
  memset(fiber.block->shared + offset, 0xff, size); // NaN: must not be read before the wait
  fiber.copies.push_back({offset, global, size, bytes, fiber.copyGroup});
}

void copyAsyncCommit() { self->copyGroup++; }

void copyAsyncWait(u32 left) {
  Fiber &fiber = *self;
  size_t done = 0;
  while (done < fiber.copies.size() && fiber.copies[done].group + left < fiber.copyGroup)
    land(fiber, fiber.copies[done++]);
  fiber.copies.erase(fiber.copies.begin(), fiber.copies.begin() + ptrdiff_t(done));
}

void bulkStore(void *global, const void *shared, u32 bytes, Site site) {
  Fiber &fiber = *self;
  u32 place;
  if (!inShared(fiber, shared, place) || place / kWindow != fiber.block->rank || place % 16 ||
      u64(global) % 16 || bytes % 16)
    fail(fiber, Rule::Misaligned, "bulk_store: addresses and size must be multiples of 16",
         Where(site));
  const u32 clock = ++fiber.block->storeClock;
  if (isChecked(fiber)) {
    const Actor actor{fiber, storeEngine(*fiber.block), clock, /*engine=*/true};
    sharedAccess(actor, place, bytes, false, Where(site));
    globalAccess(fiber, global, bytes, true, Where(site));
  }
  fiber.stores.push_back({global, place % kWindow, bytes, fiber.storeGroup, clock, false});
}

void bulkCommit() { self->storeGroup++; }

void bulkWait(u32 left, bool readOnly) {
  Fiber &fiber = *self;
  size_t done = 0;
  while (done < fiber.stores.size() && fiber.stores[done].group + left < fiber.storeGroup)
    readStore(fiber, fiber.stores[done++]);
  // A store that has read its source stays in the list until its write is awaited, or until the end.
  if (!readOnly)
    fiber.stores.erase(fiber.stores.begin(), fiber.stores.begin() + ptrdiff_t(done));
}

void fenceProxyAsync() {
  Fiber &fiber = *self;
  fiber.fenceClock = fiber.clock++;
}

} // namespace v1
} // namespace emu
