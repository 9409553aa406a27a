//===- async_copy.cuh - cp.async, mbarriers, bulk and tensor copies --------===//
#pragma once

DEVICE void cp_async4(void *shared, const void *global, u32 bytes = 4, INGOT_SITE) {
  emu::copyAsync(shared, global, 4, bytes, site);
}
DEVICE void cp_async8(void *shared, const void *global, u32 bytes = 8, INGOT_SITE) {
  emu::copyAsync(shared, global, 8, bytes, site);
}
DEVICE void cp_async16(void *shared, const void *global, u32 bytes = 16, INGOT_SITE) {
  emu::copyAsync(shared, global, 16, bytes, site);
}
DEVICE void cp_async16_stream(void *shared, const void *global, u32 bytes = 16, INGOT_SITE) {
  emu::copyAsync(shared, global, 16, bytes, site);
}
DEVICE void cp_async_commit() { emu::copyAsyncCommit(); }
template <int Left> DEVICE void cp_async_wait() { emu::copyAsyncWait(Left); }

#if DEVICE_HAS_TMA
DEVICE void mbar_init(u64 *bar, u32 count, INGOT_SITE) { emu::mbarInit(bar, count, site); }
DEVICE void fence_mbar_init() { emu::fenceMbarInit(); }
DEVICE void mbar_arrive(u64 *bar, INGOT_SITE) { emu::mbarArrive(bar, 1, 0, site); }
DEVICE void mbar_arrive_expect_tx(u64 *bar, u32 bytes, INGOT_SITE) {
  emu::mbarArrive(bar, 1, bytes, site);
}
DEVICE void mbar_expect_tx(u64 *bar, u32 bytes, INGOT_SITE) {
  emu::mbarArrive(bar, 0, bytes, site);
}
DEVICE bool mbar_test(u64 *bar, u32 parity, INGOT_SITE) { return emu::mbarTest(bar, parity, site); }
DEVICE void mbar_wait(u64 *bar, u32 parity, INGOT_SITE) {
  emu::switchTo(emu::mbarWait(bar, parity, site));
}

DEVICE void fence_proxy_async() { emu::fenceProxyAsync(); }

DEVICE void bulk_load(void *shared, const void *global, u32 bytes, u64 *bar, INGOT_SITE) {
  emu::bulkLoad(shared, global, bytes, bar, 0, site);
}
DEVICE void bulk_load_stream(void *shared, const void *global, u32 bytes, u64 *bar, INGOT_SITE) {
  emu::bulkLoad(shared, global, bytes, bar, 0, site);
}
DEVICE void bulk_load_multicast(void *shared, const void *global, u32 bytes, u64 *bar, u16 blocks,
                                INGOT_SITE) {
  emu::bulkLoad(shared, global, bytes, bar, blocks, site);
}
DEVICE void bulk_store(void *global, const void *shared, u32 bytes, INGOT_SITE) {
  emu::bulkStore(global, shared, bytes, site);
}
DEVICE void bulk_commit() { emu::bulkCommit(); }
template <int Left> DEVICE void bulk_wait_read() { emu::bulkWait(Left, true); }
template <int Left> DEVICE void bulk_wait() { emu::bulkWait(Left, false); }

struct alignas(64) TensorMap {
  u64 opaque[16];
};
DEVICE void tensor_load_2d(void *shared, const TensorMap *map, i32 x, i32 y, u64 *bar, INGOT_SITE) {
  emu::tensorLoad(shared, map, x, y, bar, 0, site);
}
DEVICE void tensor_load_2d_multicast(void *shared, const TensorMap *map, i32 x, i32 y, u64 *bar,
                                     u16 blocks, INGOT_SITE) {
  emu::tensorLoad(shared, map, x, y, bar, blocks, site);
}
DEVICE void tensor_prefetch(const TensorMap *) {}
#endif
