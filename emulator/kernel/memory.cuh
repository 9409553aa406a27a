//===- memory.cuh - Global memory: streams, atomics, counters, launches ----===//
#pragma once

// Streams are plain accesses here, so the checks see them.
struct WeightStream {};
DEVICE WeightStream weight_stream(bool) { return {}; }
template <class T> DEVICE T ld_stream(const T *p) { return *p; }
template <class T> DEVICE T ld_stream(const T *p, WeightStream) { return *p; }
template <class T> DEVICE void st_stream(T *p, T v) { *p = v; }
DEVICE void st_whole(uint4 *p, uint4 v) { *p = v; }
DEVICE void prefetch_l2(const void *p, INGOT_SITE) { emu::prefetch(p, site); }

DEVICE u32 atomic_add(u32 *p, u32 v, INGOT_SITE) {
  return emu::atomic32(p, v, 0, emu::Atomic::Add, emu::Order::Relaxed, site);
}
DEVICE i32 atomic_add(i32 *p, i32 v, INGOT_SITE) {
  return (i32)emu::atomic32((u32 *)p, (u32)v, 0, emu::Atomic::Add, emu::Order::Relaxed, site);
}
DEVICE u64 atomic_add(u64 *p, u64 v, INGOT_SITE) { return emu::atomicAdd64(p, v, site); }
DEVICE u32 atomic_max(u32 *p, u32 v, INGOT_SITE) {
  return emu::atomic32(p, v, 0, emu::Atomic::MaxUnsigned, emu::Order::Relaxed, site);
}
DEVICE i32 atomic_max(i32 *p, i32 v, INGOT_SITE) {
  return (i32)emu::atomic32((u32 *)p, (u32)v, 0, emu::Atomic::MaxSigned, emu::Order::Relaxed, site);
}
DEVICE u64 atomic_max(u64 *p, u64 v, INGOT_SITE) { return emu::atomicMax64(p, v, site); }
DEVICE u32 atomic_cas(u32 *p, u32 expected, u32 v, INGOT_SITE) {
  return emu::atomic32(p, v, expected, emu::Atomic::CompareSwap, emu::Order::Relaxed, site);
}
DEVICE i32 atomic_cas(i32 *p, i32 expected, i32 v, INGOT_SITE) {
  return (i32)atomic_cas((u32 *)p, (u32)expected, (u32)v, site);
}

DEVICE void add_release(u32 *p, u32 v, INGOT_SITE) {
  emu::atomic32(p, v, 0, emu::Atomic::Add, emu::Order::Release, site);
}
DEVICE u32 add_acq_rel(u32 *p, u32 v, INGOT_SITE) {
  return emu::atomic32(p, v, 0, emu::Atomic::Add, emu::Order::AcquireRelease, site);
}
DEVICE void store_release(u32 *p, u32 v, INGOT_SITE) { emu::storeRelease(p, v, site); }
DEVICE u32 load_acquire(const u32 *p, INGOT_SITE) { return emu::loadAcquire(p, site); }
DEVICE void spin_until(const u32 *p, u32 v, INGOT_SITE) {
  for (;;) {
    const emu::Switch next = emu::spin(p, v, site);
    if (!next.load)
      return;
    emu::switchTo(next);
  }
}
DEVICE void thread_fence() { emu::threadFence(); }

DEVICE void pdl_launch() {}
DEVICE void pdl_wait() { emu::pdlWait(); }
