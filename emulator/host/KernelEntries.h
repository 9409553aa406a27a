//===- KernelEntries.h - Functions that host-compiled kernels call ---------===//
//
// The interface between a kernel compiled as host code (emulator/kernel wraps these functions in the names of
// the device primitives) and libingot-cuda-emulator.so. Kernels are compiled one by one, so this file
// includes no standard library headers. The inline namespace is the version of the interface: a kernel object
// of another version fails to load.
//
// An operation that may have to wait returns a Switch: the stack to continue on. The switch itself (switchTo)
// is inlined at the call in the kernel. If it were in a called function, the resumed thread would return into
// another thread's call chain, and the CPU would mispredict every return.
//
// x86-64 only.
//===----------------------------------------------------------------------===//
#pragma once

#define INGOT_EMU_API __attribute__((visibility("default")))

namespace emu {
inline namespace v1 {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

struct Index3 {
  u32 x, y, z;
};

/// The source location of a kernel's call, passed as a default argument: unlike a return address, it survives
/// when the compiler merges and copies calls.
struct Site {
  const char *file;
  int line;
};

struct Switch {
  void **save; ///< receives the stack pointer of the waiting thread
  void *load;  ///< null: no need to wait
};

enum class Shuffle : u32 { Xor, Index, Up, Down };
enum class Vote : u32 { Ballot, Any, All };
enum class Reduction : u32 { SumF32, MaxF32, SumI32, MaxI32 };
enum class Product : u32 { Bf16, F16, S8, E4M3 };
enum class Atomic : u32 { Add, MaxUnsigned, MaxSigned, CompareSwap };
enum class Order : u32 { Relaxed, Release, AcquireRelease };

// "const": called once per kernel, since a thread's indices never change.
INGOT_EMU_API __attribute__((const)) Index3 threadIndex();
INGOT_EMU_API __attribute__((const)) Index3 blockIndex();
INGOT_EMU_API __attribute__((const)) Index3 gridExtent();
INGOT_EMU_API __attribute__((const)) Index3 blockExtent();

// Shared memory. `key` identifies the declaration: all threads of a block get the same bytes.
INGOT_EMU_API void *sharedArray(u64 bytes, u64 alignment, const void *key, Site site);
INGOT_EMU_API u8 *dynamicShared();

// Synchronisation of threads. count 0: all threads of the block.
INGOT_EMU_API Switch barrier(u32 id, u32 count, Site site);
INGOT_EMU_API void barrierArrive(u32 id, u32 count, Site site);
INGOT_EMU_API Switch warpBarrier(Site site);
INGOT_EMU_API Switch shuffle(u32 *value, Shuffle kind, u32 argument, Site site);
INGOT_EMU_API Switch vote(u32 *value, Vote kind, Site site);
INGOT_EMU_API Switch reduce(void *value, Reduction kind, u32 first, u32 last, Site site);

// Matrices. `multiply`: d [m][n][4], a [m][4], b [n][2] of the calling lane.
INGOT_EMU_API Switch loadMatrix(u32 *registers, const void *row, u32 matrices, bool transposed,
                                Site site);
INGOT_EMU_API Switch multiply(Product kind, void *d, const u32 *a, const u32 *b, u32 m, u32 n,
                              Site site);
INGOT_EMU_API u64 wgmmaDescriptor(const void *tile, Site site);
/// registers: the A fragment; null if `a` is a descriptor.
INGOT_EMU_API void wgmma(Product kind, float *d, const u32 *registers, u64 a, u64 b, u32 n,
                         bool accumulate, Site site);
INGOT_EMU_API void wgmmaFence(Site site);
INGOT_EMU_API void wgmmaCommit();
INGOT_EMU_API Switch wgmmaWait(u32 left, Site site);

// Asynchronous copies.
INGOT_EMU_API void copyAsync(void *shared, const void *global, u32 size, u32 bytes, Site site);
INGOT_EMU_API void copyAsyncCommit();
INGOT_EMU_API void copyAsyncWait(u32 left);
INGOT_EMU_API void mbarInit(u64 *bar, u32 count, Site site);
INGOT_EMU_API void mbarArrive(u64 *bar, u32 arrivals, u32 bytes, Site site);
INGOT_EMU_API void fenceMbarInit();
/// relaxed: publishes that the thread's reads are done, but none of its writes.
INGOT_EMU_API void mbarArriveRemote(u64 *bar, u32 rank, bool relaxed, Site site);
INGOT_EMU_API bool mbarTest(u64 *bar, u32 parity, Site site);
INGOT_EMU_API Switch mbarWait(u64 *bar, u32 parity, Site site);
/// blocks: one bit per block of the cluster; 0: the thread's own block.
INGOT_EMU_API void bulkLoad(void *shared, const void *global, u32 bytes, u64 *bar, u32 blocks,
                            Site site);
INGOT_EMU_API void tensorLoad(void *shared, const void *map, int x, int y, u64 *bar, u32 blocks,
                              Site site);
INGOT_EMU_API void bulkStore(void *global, const void *shared, u32 bytes, Site site);
INGOT_EMU_API void bulkCommit();
INGOT_EMU_API void bulkWait(u32 left, bool readOnly);
INGOT_EMU_API void fenceProxyAsync();

// Clusters.
INGOT_EMU_API u32 clusterRank();
INGOT_EMU_API u32 clusterSize();
/// relaxed: publishes only what precedes the thread's last fenceMbarInit.
INGOT_EMU_API void clusterArrive(bool relaxed, Site site);
INGOT_EMU_API Switch clusterWait(Site site);
INGOT_EMU_API void *clusterMap(void *shared, u32 rank, Site site);

// Memory between blocks, and between launches.
INGOT_EMU_API u32 atomic32(u32 *p, u32 value, u32 expected, Atomic kind, Order order, Site site);
INGOT_EMU_API u64 atomicAdd64(u64 *p, u64 value, Site site);
INGOT_EMU_API u64 atomicMax64(u64 *p, u64 value, Site site);
INGOT_EMU_API void storeRelease(u32 *p, u32 value, Site site);
INGOT_EMU_API u32 loadAcquire(const u32 *p, Site site);
/// load is null once *p >= value. Otherwise the caller must call again after the switch.
INGOT_EMU_API Switch spin(const u32 *p, u32 value, Site site);
INGOT_EMU_API void threadFence();
INGOT_EMU_API void prefetch(const void *p, Site site);
INGOT_EMU_API void pdlWait();

/// Saves the callee-saved state and the resume address, and switches to the other stack. The compiler saves
/// the live registers, so the clobber list names all registers.
#ifdef __AVX512F__
#define INGOT_EMU_WIDE_REGISTERS                                                                   \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",      \
      "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6",    \
      "k7"
#else
#define INGOT_EMU_WIDE_REGISTERS
#endif
__attribute__((always_inline)) inline void switchTo(Switch next) {
  if (!next.load)
    return;
  asm volatile("lea -128(%%rsp), %%rsp\n" // the red zone
               "push %%rbp\n"
               "lea 1f(%%rip), %%rcx\n"
               "push %%rcx\n"
               "mov %%rsp, (%0)\n"
               "mov %1, %%rsp\n"
               "pop %%rcx\n"
               "jmp *%%rcx\n"
               "1: pop %%rbp\n"
               "lea 128(%%rsp), %%rsp\n"
               : "+a"(next.save), "+d"(next.load)::"rbx", "rcx", "rsi", "rdi", "r8", "r9", "r10",
                 "r11", "r12", "r13", "r14", "r15", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3",
                 "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                 "xmm14", "xmm15" INGOT_EMU_WIDE_REGISTERS);
}

} // namespace v1
} // namespace emu
