//===- async_copy.cuh - cp.async, mbarriers, bulk and tensor copies --------===//
#pragma once

// cp.async: a thread issues copies and waits for groups of them. The last `size - bytes` bytes of the
// destination become 0; with bytes = 0 the source is not read. Other threads see the data after the
// issuing thread's wait and a barrier.
DEVICE void cp_async4(void *shared, const void *global, u32 bytes = 4) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)),
               "l"(global), "r"(bytes)
               : "memory");
}
DEVICE void cp_async8(void *shared, const void *global, u32 bytes = 8) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(shared)),
               "l"(global), "r"(bytes)
               : "memory");
}
DEVICE void cp_async16(void *shared, const void *global, u32 bytes = 16) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
               "l"(global), "r"(bytes)
               : "memory");
}
/// cp_async16 for data that is read once (weights).
DEVICE void cp_async16_stream(void *shared, const void *global, u32 bytes = 16) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(
                   shared_address(shared)),
               "l"(global), "r"(bytes), "l"(evict_first_policy())
               : "memory");
}
DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Returns when at most `Left` of this thread's groups are in flight.
template <int Left> DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}

#if DEVICE_HAS_TMA
// An mbarrier is 8 bytes of shared memory that count arrivals and bytes. A phase ends when `count`
// threads have arrived and all announced bytes have arrived. Wait with the parity of the phase: 0 for
// the first, 1 for the second, …
DEVICE void mbar_init(u64 *bar, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count)
               : "memory");
}
/// Call it after mbar_init and before the barrier that lets other threads (and the copy engine) use the
/// mbarriers.
DEVICE void fence_mbar_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void mbar_arrive(u64 *bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}
/// Arrives and announces the bytes that copies will write in this phase.
DEVICE void mbar_arrive_expect_tx(u64 *bar, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)),
               "r"(bytes)
               : "memory");
}
/// Announces bytes without arriving.
DEVICE void mbar_expect_tx(u64 *bar, u32 bytes) {
  asm volatile(
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)),
      "r"(bytes)
      : "memory");
}
/// Returns true if the phase of that parity has ended. To wait for the end, call mbar_wait instead of
/// this in a loop.
DEVICE bool mbar_test(u64 *bar, u32 parity) {
  u32 done;
  asm volatile(
      "{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
      : "=r"(done)
      : "r"(shared_address(bar)), "r"(parity)
      : "memory");
  return done;
}
DEVICE void mbar_wait(u64 *bar, u32 parity) {
  u32 done = 0;
  while (!done)
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 "
                 "%0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(shared_address(bar)), "r"(parity)
                 : "memory");
}

/// Orders writes of threads to shared memory before reads of the async proxy (bulk and tensor copies,
/// wgmma). Every writing thread calls it, then the barrier.
DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Bulk copies: one thread requests many bytes (a multiple of 16; addresses 16-byte aligned).
DEVICE void bulk_load(void *shared, const void *global, u32 bytes, u64 *bar) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(shared)),
      "l"(global), "r"(bytes), "r"(shared_address(bar))
      : "memory");
}
/// bulk_load for data that is read once (weights).
DEVICE void bulk_load_stream(void *shared, const void *global, u32 bytes, u64 *bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
               "[%0], [%1], %2, "
               "[%3], %4;" ::"r"(shared_address(shared)),
               "l"(global), "r"(bytes), "r"(shared_address(bar)), "l"(evict_first_policy())
               : "memory");
}
/// Copies to the same offset in every block of the cluster that has its bit set in the mask. Each block counts the
/// bytes on its own mbarrier at bar's offset.
DEVICE void bulk_load_multicast(void *shared, const void *global, u32 bytes, u64 *bar, u16 blocks) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
               "cluster [%0], [%1], %2, "
               "[%3], %4;" ::"r"(shared_address(shared)),
               "l"(global), "r"(bytes), "r"(shared_address(bar)), "h"(blocks)
               : "memory");
}
/// Copies shared memory to global memory, in groups like the groups of cp.async. Call fence_proxy_async and a barrier
/// before it.
DEVICE void bulk_store(void *global, const void *shared, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
               "r"(shared_address(shared)), "r"(bytes)
               : "memory");
}
DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Returns when at most `Left` groups of stores still read shared memory; bulk_wait: when at most
/// `Left` groups are incomplete.
template <int Left> DEVICE void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Left) : "memory");
}
template <int Left> DEVICE void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Left) : "memory");
}

/// Describes a row-major matrix in global memory and the box that one copy takes. It is opaque and
/// made on the host (cuTensorMapEncodeTiled, or the emulator's encodeTensorMap).
struct alignas(64) TensorMap {
  u64 opaque[16];
};
/// Loads the box that starts at column x, row y. Elements outside the matrix become 0. `bar` also counts the bytes of
/// these elements, so it always receives the byte count of a whole box. `shared` is 128-byte aligned, or 1024-byte
/// aligned if the map has a swizzle.
DEVICE void tensor_load_2d(void *shared, const TensorMap *map, i32 x, i32 y, u64 *bar) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
               "[%1, {%2, %3}], "
               "[%4];" ::"r"(shared_address(shared)),
               "l"(map), "r"(x), "r"(y), "r"(shared_address(bar))
               : "memory");
}
DEVICE void tensor_load_2d_multicast(void *shared, const TensorMap *map, i32 x, i32 y, u64 *bar,
                                     u16 blocks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes."
               "multicast::cluster [%0], "
               "[%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(shared)),
               "l"(map), "r"(x), "r"(y), "r"(shared_address(bar)), "h"(blocks)
               : "memory");
}
DEVICE void tensor_prefetch(const TensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
#endif
