//===- memory.cuh - Global memory: streams, atomics, counters, launches ----===//
#pragma once

/// The L2 eviction policy of a stream of reads. Data that a single block reads, once, is evicted first.
/// Data that other blocks also read, for other tokens, is not.
struct WeightStream {
  u64 policy;
};
DEVICE u64 evict_first_policy() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
DEVICE u64 evict_normal_policy() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
DEVICE WeightStream weight_stream(bool readOnce) {
  const bool first = INGOT_EVICT < 0 ? readOnce : INGOT_EVICT != 0;
  return {first ? evict_first_policy() : evict_normal_policy()};
}
/// Reads data that no thread of this launch writes (weights), bypassing L1.
DEVICE u32 ld_stream(const u32 *p, WeightStream stream) {
  u32 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;"
               : "=r"(v)
               : "l"(p), "l"(stream.policy));
  return v;
}
DEVICE uint2 ld_stream(const uint2 *p, WeightStream stream) {
  uint2 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
               : "=r"(v.x), "=r"(v.y)
               : "l"(p), "l"(stream.policy));
  return v;
}
DEVICE uint4 ld_stream(const uint4 *p, WeightStream stream) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p), "l"(stream.policy));
  return v;
}
/// Loads data that is read only once.
template <class T> DEVICE T ld_stream(const T *p) {
  return ld_stream(p, WeightStream{evict_first_policy()});
}
/// Writes data that this GPU does not read again soon.
DEVICE void st_stream(u32 *p, u32 v) {
  asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
DEVICE void st_stream(uint4 *p, uint4 v) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}
/// Stores 16 bytes by one instruction; the compiler cannot split it into words.
DEVICE void st_whole(uint4 *p, uint4 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}
/// Prefetches a line of 128 bytes into L2.
DEVICE void prefetch_l2(const void *p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

// Atomics on shared or global memory. They return the old value and do not order memory. There are no atomics for
// floats, because their sums would depend on the order of arrival.
DEVICE u32 atomic_add(u32 *p, u32 v) { return atomicAdd(p, v); }
DEVICE i32 atomic_add(i32 *p, i32 v) { return atomicAdd(p, v); }
DEVICE u64 atomic_add(u64 *p, u64 v) { return atomicAdd(p, v); }
DEVICE u32 atomic_max(u32 *p, u32 v) { return atomicMax(p, v); }
DEVICE i32 atomic_max(i32 *p, i32 v) { return atomicMax(p, v); }
DEVICE u64 atomic_max(u64 *p, u64 v) { return atomicMax(p, v); }
DEVICE u32 atomic_cas(u32 *p, u32 expected, u32 v) { return atomicCAS(p, expected, v); }
DEVICE i32 atomic_cas(i32 *p, i32 expected, i32 v) { return atomicCAS(p, expected, v); }

// Counters between blocks, in global memory. The release covers the thread's earlier writes. After a barrier it also
// covers the earlier writes of the whole block. The acquire covers all later accesses.
DEVICE void add_release(u32 *p, u32 v) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
/// Finds the last block to arrive: releases, acquires and returns the old value.
DEVICE u32 add_acq_rel(u32 *p, u32 v) {
  u32 old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "l"(p), "r"(v)
               : "memory");
  return old;
}
DEVICE void store_release(u32 *p, u32 v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
DEVICE u32 load_acquire(const u32 *p) {
  u32 v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
/// Waits until *p >= v, then acquires. All blocks of the launch must be resident at once.
DEVICE void spin_until(const u32 *p, u32 v) {
  while (load_acquire(p) < v)
    __nanosleep(20);
}
/// Orders this thread's accesses before and after the fence, as seen by the whole GPU.
DEVICE void thread_fence() { __threadfence(); }

/// Programmatic dependent launch. pdl_launch lets the next kernel start. pdl_wait returns when every
/// earlier kernel has finished and its writes are visible. Before pdl_wait a kernel must not write
/// global memory, nor read memory that an earlier launch writes. Every kernel must call pdl_wait;
/// otherwise the next kernel's wait would not cover the kernels before this one.
DEVICE void pdl_launch() {
#if DEVICE_HAS_TMA
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
DEVICE void pdl_wait() {
#if DEVICE_HAS_TMA
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
