//===- State.h - Threads, warps, blocks and clusters while they run --------===//
//
//   Cluster   what one worker runs at a time: one block, or the blocks of a cluster
//     Block   its shared memory and the shadow of it, its barriers
//       Warp  which lanes can run, who has come to the present meeting
//         Fiber   a thread: a stack, and what it has under way
//
// Clusters are kept and used again: stacks, shadow memory and fibers cost more to make than a
// small block costs to run. Everything here belongs to one worker; only LaunchState is shared.
//===----------------------------------------------------------------------===//
#pragma once

#include "emulator/host/Findings.h"
#include "emulator/host/GlobalMemory.h"
#include "emulator/host/LazyArray.h"

#include <atomic>
#include <memory>

namespace ingot::emulator {

using emu::Index3;
using emu::Site;
using emu::Switch;
using emu::u16;
using emu::u32;
using emu::u64;
using emu::u8;

constexpr u32 kMaxThreads = 1024;
constexpr u32 kMaxCluster = 16;
constexpr u32 kWindow = 256 * 1024; ///< address space of a block's shared memory
constexpr u32 kStackBytes = 64 * 1024;

// Asynchronous engines take part in the race checks as if they were threads of the block: copies,
// one for each mbarrier (modulo), so that waiting for one teaches nothing of another; bulk stores;
// the tensor core of each warpgroup.
constexpr u32 kCopyEngines = 16, kTensorEngines = 8;
constexpr u32 kEngines = kCopyEngines + 1 + kTensorEngines;

struct Block;
struct Cluster;
struct Fiber;

/// Shared by all workers of a launch.
struct LaunchState {
  const Launch *spec;
  GlobalMemory *memory;
  FindingList *findings;
  u32 seed;
  bool checked;
  u32 number;                                  ///< counts launches of the device
  std::unique_ptr<std::atomic<u8>[]> released; ///< of each block: it has done a release
  std::atomic<bool> stop{false};               ///< a fatal finding: what follows would be noise
  std::atomic<bool> waited{false};             ///< some thread called pdl_wait
  std::atomic<bool> broken{false};             ///< there was a finding
  std::atomic<u64> progress{0};                ///< rounds in which a resident cluster went on
};

/// The word of shared memory and what the checks know of it (Races.cpp).
struct Cell {
  u32 writeClock, readClock[2];
  u32 generation; ///< of the block that declared it; any other: it belongs to no array
  u16 writer, reader[2];
  u8 flags;
  Where writtenAt;
};
constexpr u8 kInitialised = 1, kInFlight = 2, kAtomicWrite = 4;

enum class Meeting : u8 {
  None,
  WarpBarrier,
  Shuffle,
  Vote,
  Reduce,
  LoadMatrix,
  Multiply,
  WgmmaWait
};

struct Warp {
  Block *block;
  u32 index;    ///< in the block
  u32 runnable; ///< lanes that can go on
  u32 alive, all;
  u32 arrived;   ///< lanes that have come to the present meeting
  u32 inBarrier; ///< lanes that wait in a barrier of the block
  Meeting meeting;
  Site site;
  u32 *row; ///< the vector clock of lanes that have none of their own
};

struct AsyncCopy {
  u32 offset; ///< in the block's window
  const void *source;
  u32 size, bytes, group;
};
struct BulkStore {
  void *to;
  u32 offset, bytes, group, clock;
  bool read; ///< shared memory has been read
};
struct WgmmaProduct {
  emu::Product kind;
  float *d;
  u64 a, b;
  u32 registers[4];
  bool fromRegisters, accumulate;
  u32 n, group, clock;
};
/// Sums of a product under way: the thread's array holds NaN meanwhile.
struct WgmmaSums {
  float *d;
  u32 count;
  size_t at; ///< in Fiber::sums
};

struct Fiber {
  Index3 index;
  u32 id, lane; ///< in the block, in the warp
  u32 clockId;  ///< in the cluster's vector clocks
  Warp *warp;
  Block *block;
  void *stackPointer = nullptr; ///< null: begins anew
  char *stack = nullptr;
  bool done;

  // What it brings to a meeting of the warp.
  void *operand[3];
  u32 argument[3];
  const char *waitsFor; ///< the last thing it waited for
  Site waitsAt;

  // Under way.
  std::vector<AsyncCopy> copies;
  u32 copyGroup;
  std::vector<BulkStore> stores;
  u32 storeGroup;
  std::vector<WgmmaProduct> products;
  std::vector<WgmmaSums> held;
  std::vector<float> sums;
  u32 productGroup, productClock;
  bool wgmmaFenced;

  // What it knows of others.
  u32 clock;         ///< own; grows where others may learn of it
  u32 fenceClock;    ///< accesses up to here were fenced for the async proxy
  u32 *row;          ///< own vector clock, or null: the warp's
  u32 mbarInitClock; ///< accesses up to here came before its last fence_mbar_init
  /// Clocks of others up to which their reads are done, though not what they wrote is seen. Empty
  /// until a relaxed arrival told it of some.
  std::vector<u32> readsDone;
  bool waitedPdl, fenced, touchedAtomic;
  u32 clusterPhase; ///< of the cluster barrier at its last arrival
};

struct Barrier {
  std::vector<Fiber *> waiting;
  u32 arrivedOnly = 0; ///< arrivals that do not wait
  u32 count = 0;
  Site site{};
  std::vector<u32> brought; ///< clocks of those
};

struct Mbarrier {
  u32 place; ///< rank * kWindow + offset
  u32 count, pending;
  long bytes;
  u32 phase;
  std::vector<u32> current, finished; ///< clocks of arrivals of this phase, of phases that ended
  std::vector<Fiber *> waiting;
  /// The same of reads alone (Fiber::readsDone); empty until there is a relaxed arrival.
  std::vector<u32> currentReads = {}, finishedReads = {};
};

/// A bulk copy or a row of a tensor copy that has not landed.
struct BulkPiece {
  u32 offset;         ///< in the cluster's windows
  const void *source; ///< null: zeros
  u32 bytes;
};
struct BulkLoad {
  std::vector<BulkPiece> pieces;
  u32 mbarrier; ///< place
  u32 bytes, engine, clock;
  Where where;
};

struct StaticArray {
  const void *key;
  u32 offset;
};

struct Block {
  Cluster *cluster;
  u32 rank, linear; ///< in the cluster, in the grid
  Index3 index;
  std::vector<Warp> warps;
  std::vector<Fiber> fibers;
  u32 runnableWarps, alive, exited;

  char *shared; ///< its window
  u32 used;     ///< of the window, red zones included
  u32 declared; ///< bytes of arrays in the kernel, dynamic ones apart
  std::vector<StaticArray> arrays;
  u32 generation = 0;
  LazyArray<Cell> words, bytes; ///< a cell per 4 bytes, or per byte where narrower accesses came
  LazyArray<u8> split;

  Barrier barriers[16];
  u32 copyClock, storeClock; ///< of its engines
  bool acquired;
};

struct Cluster {
  LaunchState *launch;
  std::vector<Block> blocks;
  u32 threads, warps; ///< of a block
  u32 runnableBlocks, alive;
  void *mainStack;
  LazyArray<char> shared, stacks;
  u32 clockStride, clockWidth; ///< of a block, of a row
  LazyArray<u32> rows, ownRows;
  std::vector<Mbarrier> mbarriers;
  std::vector<BulkLoad> loads;
  std::vector<Fiber *> spinning;
  Buffer *recentBuffers[4]; ///< of this launch
  u32 nextRecent;
  u64 spinsPassed = 0; ///< a resident cluster that passed none since it was last looked at is idle

  std::vector<Fiber *> clusterWaiting;
  std::vector<u32> clusterCurrent, clusterFinished;
  u32 clusterArrived, clusterPhase;

  u32 random;
  bool aborted = false;
};

/// The thread that runs on this worker; null between threads and outside kernels. A fiber never
/// changes its worker: compilers keep addresses of thread-local variables.
extern thread_local Fiber *self __attribute__((tls_model("initial-exec")));

} // namespace ingot::emulator
