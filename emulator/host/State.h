//===- State.h - Threads, warps, blocks and clusters while they run --------===//
//
//   Cluster   the unit of work of a worker: one block, or the blocks of a cluster
//     Block   its shared memory and its shadow, its barriers
//       Warp  its runnable lanes, and the lanes that arrived at the current warp-synchronous operation
//         Fiber   a thread: a stack, and its operations in flight
//
// Clusters are reused: creating stacks, shadow memory and fibers costs more than running a small block. All
// state here belongs to one worker; only LaunchState is shared.
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

// For the race checks, asynchronous engines act as threads of the block: copy engines, one per mbarrier
// (modulo their number), so that a wait for one mbarrier implies nothing about another; the engine of bulk
// stores; the tensor core of each warpgroup.
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
  std::unique_ptr<std::atomic<u8>[]> released; ///< for each block, whether it has done a release
  std::atomic<bool> stop{false};               ///< set by a fatal finding: later findings would be
                                               ///< noise
  std::atomic<bool> waited{false};             ///< whether some thread called pdl_wait
  std::atomic<bool> broken{false};             ///< whether there was a finding
  std::atomic<u64> progress{0};                ///< number of rounds in which a resident cluster
                                               ///< made progress
};

/// The shadow state of a word of shared memory (Races.cpp).
struct Cell {
  u32 writeClock, readClock[2];
  u32 generation; ///< of the block that declared it; any other value: outside every array
  u16 writer, reader[2];
  u8 flags;
  Where writtenAt;
};
constexpr u8 kInitialised = 1, kInFlight = 2, kAtomicWrite = 4;

enum class WarpOp : u8 {
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
  u32 runnable; ///< lanes that can run
  u32 alive, all;
  u32 arrived;   ///< lanes that have arrived at the current warp-synchronous operation
  u32 inBarrier; ///< lanes that wait in a barrier of the block
  WarpOp op;
  Site site;
  u32 *row; ///< the vector clock of lanes that have no own one
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
/// The saved sums of a wgmma in flight. The thread's own array holds NaN until it completes.
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
  void *stackPointer = nullptr; ///< null: starts afresh
  char *stack = nullptr;
  bool done;

  // Inputs to a warp-synchronous operation.
  void *operand[3];
  u32 argument[3];
  const char *waitsFor; ///< the last operation it waited for
  Site waitsAt;

  // Operations in flight.
  std::vector<AsyncCopy> copies;
  u32 copyGroup;
  std::vector<BulkStore> stores;
  u32 storeGroup;
  std::vector<WgmmaProduct> products;
  std::vector<WgmmaSums> held;
  std::vector<float> sums;
  u32 productGroup, productClock;
  bool wgmmaFenced;

  // Knowledge of other threads.
  u32 clock;         ///< own clock; advances when others may learn of it
  u32 fenceClock;    ///< accesses up to this clock were fenced for the async proxy
  u32 *row;          ///< own vector clock; null: uses the warp's
  u32 mbarInitClock; ///< accesses up to this clock precede its last fence_mbar_init
  /// Clocks of others up to which their reads, but not necessarily their writes, are known to be done. Empty
  /// until a relaxed arrival supplies some.
  std::vector<u32> readsDone;
  bool waitedPdl, fenced, touchedAtomic;
  u32 clusterPhase; ///< phase of the cluster barrier at its last arrival
};

struct Barrier {
  std::vector<Fiber *> waiting;
  u32 arrivedOnly = 0; ///< number of arrivals that do not wait
  u32 count = 0;
  Site site{};
  std::vector<u32> brought; ///< clocks of those arrivals
};

struct Mbarrier {
  u32 place; ///< rank * kWindow + offset
  u32 count, pending;
  long bytes;
  u32 phase;
  std::vector<u32> current, finished; ///< merged clocks of arrivals: of the current phase, of
                                      ///< completed phases
  std::vector<Fiber *> waiting;
  /// `current` and `finished` of reads alone (Fiber::readsDone); empty until there is a relaxed arrival.
  std::vector<u32> currentReads = {}, finishedReads = {};
};

/// A piece of a bulk copy, or of a row of a tensor copy, that is in flight.
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
  u32 used;     ///< bytes of the window, red zones included
  u32 declared; ///< bytes of arrays declared in the kernel, without dynamic ones
  std::vector<StaticArray> arrays;
  u32 generation = 0;
  LazyArray<Cell> words, bytes; ///< a cell per 4 bytes, or per byte where narrower accesses
                                ///< occurred
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
  u64 spinsPassed = 0; ///< a resident cluster that passed no spin since the last check is idle

  std::vector<Fiber *> clusterWaiting;
  std::vector<u32> clusterCurrent, clusterFinished;
  u32 clusterArrived, clusterPhase;

  u32 random;
  bool aborted = false;
};

/// The fiber that runs on this worker; null between fibers and outside kernels. A fiber never changes its
/// worker, because compilers cache addresses of thread-local variables.
extern thread_local Fiber *self __attribute__((tls_model("initial-exec")));

} // namespace ingot::emulator
