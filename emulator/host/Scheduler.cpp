//===- Scheduler.cpp - Runs the fibers of a cluster to completion -----------===//
//
// A fiber that must wait picks the next one itself, and the kernel switches to it directly; the worker's own
// stack ("main") runs only when no fiber can. Then either a copy completes, which wakes some fiber, or all
// threads have ended, or there is a deadlock.
//===----------------------------------------------------------------------===//
#include "emulator/host/Scheduler.h"

#include "emulator/host/Races.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace ingot::emulator {

thread_local Fiber *self __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

constexpr u64 kCanary = 0x5afe57ac5afe57ac;

u32 nextRandom(Cluster &cluster) {
  cluster.random = cluster.random * 1664525u + 1013904223u;
  return cluster.random >> 27;
}

/// Returns the index of a bit of `bits`: the lowest, or with a seed a random one.
u32 pick(Cluster &cluster, u32 bits) {
  if (!cluster.launch->seed)
    return u32(__builtin_ctz(bits));
  const u32 from = nextRandom(cluster), high = bits >> from << from;
  return u32(__builtin_ctz(high ? high : bits));
}

/// Returns a runnable fiber. It prefers neighbours of `near`, because their data is in the caches.
Fiber *pickFiber(Cluster &cluster, Warp *near) {
  Warp *warp = near && near->runnable ? near : nullptr;
  if (!warp) {
    Block *block = near && near->block->runnableWarps ? near->block : nullptr;
    if (!block) {
      if (!cluster.runnableBlocks)
        return nullptr;
      block = &cluster.blocks[pick(cluster, cluster.runnableBlocks)];
    }
    warp = &block->warps[pick(cluster, block->runnableWarps)];
  }
  Block &block = *warp->block;
  const u32 lane = pick(cluster, warp->runnable);
  warp->runnable &= ~(1u << lane);
  if (!warp->runnable)
    block.runnableWarps &= ~(1u << warp->index);
  if (!block.runnableWarps)
    cluster.runnableBlocks &= ~(1u << block.rank);
  return &block.fibers[warp->index * 32 + lane];
}

Switch leave(Fiber &fiber) {
  Cluster &cluster = *fiber.block->cluster;
  Fiber *next = pickFiber(cluster, fiber.warp);
  self = next;
  return {&fiber.stackPointer, next ? next->stackPointer : cluster.mainStack};
}

void exitThread(Fiber &fiber) {
  Block &block = *fiber.block;
  Cluster &cluster = *block.cluster;
  finishCopies(fiber);
  if (cluster.launch->checked && *reinterpret_cast<u64 *>(fiber.stack) != kCanary)
    fail(fiber, Rule::StackOverflow,
         "a thread's local variables exceed " + std::to_string(kStackBytes) + " bytes", {});
  fiber.done = true;
  fiber.warp->alive &= ~(1u << fiber.lane);
  block.alive--;
  block.exited++;
  cluster.alive--;
  if (fiber.warp->arrived)
    fail(fiber, Rule::DivergentWarp,
         "thread " + std::to_string(fiber.id) + " leaves while other lanes wait",
         Where(fiber.warp->site));
  Barrier &barrier = block.barriers[0];
  if (!barrier.waiting.empty() && barrier.waiting.size() == block.alive)
    releaseBarrier(barrier);
  clusterArrived(cluster);
}

/// The loop of a fiber: it runs kernel after kernel.
void fiberMain() {
  for (;;) {
    const Launch &launch = *self->block->cluster->launch->spec;
    launch.entry(launch.arguments);
    exitThread(*self);
    emu::switchTo(leave(*self));
  }
}

void prepareStack(Fiber &fiber, char *stack) {
  fiber.stack = stack;
  if (isChecked(fiber)) // touches a page per thread: a gigabyte for 132 resident blocks
    *reinterpret_cast<u64 *>(stack) = kCanary;
  // Stacks at equal distances modulo 4 KB thrash the L1 cache, so they are shifted per lane.
  const u32 colour = fiber.lane * 1088 % 8192 / 16 * 16;
  void **top = reinterpret_cast<void **>(stack + kStackBytes - colour - 64);
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(&fiberMain);
  fiber.stackPointer = top;
}

/// Allocates stacks, windows and shadows for the shape of this launch.
void shapeCluster(Cluster &cluster, const Launch &launch, bool checked) {
  const u32 blocks = u32(launch.cluster.count()), threads = u32(launch.block.count());
  if (cluster.blocks.size() < blocks) {
    cluster.shared = LazyArray<char>(size_t(blocks) * kWindow);
    cluster.blocks = std::vector<Block>(blocks);
    cluster.stacks = {};
  }
  if (cluster.blocks.size() > blocks)
    cluster.blocks.resize(blocks);
  const size_t stackBytes = size_t(blocks) * kMaxThreads * kStackBytes;
  if (!cluster.stacks.data()) {
    cluster.stacks = LazyArray<char>(stackBytes);
    for (Block &block : cluster.blocks)
      block.fibers = std::vector<Fiber>(kMaxThreads);
  }
  cluster.threads = threads;
  cluster.warps = (threads + 31) / 32;
  cluster.clockStride = threads + kEngines;
  cluster.clockWidth = blocks * cluster.clockStride;
  if (!checked)
    return;
  if (const size_t n = size_t(blocks) * cluster.warps * cluster.clockWidth; cluster.rows.size() < n)
    cluster.rows = LazyArray<u32>(n);
  if (const size_t n = size_t(blocks) * threads * cluster.clockWidth; cluster.ownRows.size() < n)
    cluster.ownRows = LazyArray<u32>(n);
  for (Block &block : cluster.blocks)
    if (!block.words.data()) {
      block.words = LazyArray<Cell>(kWindow / 4);
      block.bytes = LazyArray<Cell>(kWindow);
      block.split = LazyArray<u8>(kWindow / 4);
    }
}

void startFiber(Cluster &cluster, Block &block, u32 id) {
  const Launch &launch = *cluster.launch->spec;
  Fiber &f = block.fibers[id];
  const Extent &e = launch.block;
  f.index = {id % e.x, id / e.x % e.y, id / e.x / e.y};
  f.id = id;
  f.lane = id % 32;
  f.clockId = block.rank * cluster.clockStride + id;
  f.warp = &block.warps[id / 32];
  f.block = &block;
  f.done = false;
  f.copyGroup = f.storeGroup = f.productGroup = f.productClock = 0;
  f.clock = 1;
  f.fenceClock = f.mbarInitClock = 0;
  f.readsDone.clear();
  f.row = nullptr;
  f.waitedPdl = !launch.pdl;
  f.fenced = f.touchedAtomic = f.wgmmaFenced = false;
  f.clusterPhase = 0;
  if (!f.stackPointer)
    prepareStack(f, cluster.stacks.data() + (size_t(block.rank) * kMaxThreads + id) * kStackBytes);
}

void startBlock(Cluster &cluster, Block &block, u32 rank, Index3 index, u32 linear) {
  LaunchState &launch = *cluster.launch;
  const u32 dynamic = launch.spec->dynamicShared;
  block.cluster = &cluster;
  block.rank = rank;
  block.index = index;
  block.linear = linear;
  block.runnableWarps = 0;
  block.alive = cluster.threads;
  block.exited = 0;
  block.generation++;
  block.shared = cluster.shared.data() + size_t(rank) * kWindow;
  block.used = (dynamic + 1023) & ~1023u;
  block.declared = 0;
  block.arrays.clear();
  block.acquired = false;
  block.copyClock = block.storeClock = 0;
  for (Barrier &barrier : block.barriers) {
    barrier.waiting.clear();
    barrier.arrivedOnly = 0;
  }
  memset(block.shared, 0xff, dynamic); // NaN in every format
  if (launch.checked)
    declareCells(block, 0, dynamic);

  block.warps.resize(cluster.warps);
  for (u32 w = 0; w < cluster.warps; w++) {
    const u32 lanes = cluster.threads - w * 32;
    const u32 mask = lanes >= 32 ? ~0u : (1u << lanes) - 1;
    u32 *row = nullptr;
    if (launch.checked) {
      row = &cluster.rows[size_t(rank * cluster.warps + w) * cluster.clockWidth];
      memset(row, 0, cluster.clockWidth * sizeof(u32));
    }
    block.warps[w] = {&block, w, mask, mask, mask, 0, 0, WarpOp::None, {}, row};
    block.runnableWarps |= 1u << w;
  }
  for (u32 i = 0; i < cluster.threads; i++)
    startFiber(cluster, block, i);
}

void reportDeadlock(Cluster &cluster) {
  std::map<std::string, u32> waits;
  Fiber *any = nullptr;
  for (Block &block : cluster.blocks)
    for (u32 i = 0; i < cluster.threads; i++) {
      Fiber &f = block.fibers[i];
      if (f.done)
        continue;
      any = any ? any : &f;
      waits[std::string(f.waitsFor) + " at line " + std::to_string(f.waitsAt.line)]++;
    }
  std::string text = "deadlock, no thread can run:";
  for (auto &[what, count] : waits)
    text += " " + std::to_string(count) + " threads in " + what + ";";
  for (const Mbarrier &bar : cluster.mbarriers)
    if (!bar.waiting.empty())
      text += " the mbarrier at byte " + std::to_string(bar.place % kWindow) + " lacks " +
              std::to_string(bar.pending) + " arrivals and " + std::to_string(bar.bytes) +
              " bytes;";
  report(*any, Rule::Deadlock, text, Where(any->waitsAt));
  cluster.aborted = true;
}

} // namespace

Switch suspend(Fiber &fiber, const char *what, Site site) {
  fiber.waitsFor = what;
  fiber.waitsAt = site;
  return leave(fiber);
}

void report(Fiber &fiber, Rule rule, std::string text, Where where, Where other) {
  LaunchState &launch = *fiber.block->cluster->launch;
  const Index3 &b = fiber.block->index;
  text += " (block " + std::to_string(b.x) + "," + std::to_string(b.y) + "," + std::to_string(b.z) +
          ")";
  launch.broken = true;
  launch.findings->add(rule, launch.spec->name, std::move(text), where, other);
}

void fail(Fiber &fiber, Rule rule, std::string text, Where where, Where other) {
  report(fiber, rule, std::move(text), where, other);
  Cluster &cluster = *fiber.block->cluster;
  cluster.aborted = true;
  self = nullptr;
  emu::switchTo({&fiber.stackPointer, cluster.mainStack});
  __builtin_unreachable();
}

void startCluster(Cluster &cluster, LaunchState &launch, u64 clusterIndex) {
  const Launch &spec = *launch.spec;
  cluster.launch = &launch;
  shapeCluster(cluster, spec, launch.checked);
  cluster.aborted = false;
  cluster.mbarriers.clear();
  cluster.loads.clear();
  cluster.spinning.clear();
  std::fill(std::begin(cluster.recentBuffers), std::end(cluster.recentBuffers), nullptr);
  cluster.nextRecent = 0;
  cluster.clusterWaiting.clear();
  cluster.clusterArrived = cluster.clusterPhase = 0;
  if (launch.checked) {
    cluster.clusterCurrent.assign(cluster.clockWidth, 0);
    cluster.clusterFinished.assign(cluster.clockWidth, 0);
  }
  cluster.random = launch.seed * 2654435761u + u32(clusterIndex);
  cluster.alive = cluster.threads * u32(cluster.blocks.size());
  cluster.runnableBlocks = (1u << cluster.blocks.size()) - 1;

  const Extent &c = spec.cluster, &g = spec.grid;
  const u64 perRow = g.x / c.x, perPlane = perRow * (g.y / c.y);
  const Index3 corner{u32(clusterIndex % perRow) * c.x, u32(clusterIndex % perPlane / perRow) * c.y,
                      u32(clusterIndex / perPlane) * c.z};
  for (u32 rank = 0; rank < cluster.blocks.size(); rank++) {
    const Index3 index{corner.x + rank % c.x, corner.y + rank / c.x % c.y,
                       corner.z + rank / c.x / c.y};
    startBlock(cluster, cluster.blocks[rank], rank, index,
               u32(index.x + g.x * (index.y + u64(g.y) * index.z)));
  }
}

Outcome runCluster(Cluster &cluster) {
  for (Fiber *fiber : cluster.spinning)
    wake(*fiber);
  cluster.spinning.clear();
  while (cluster.alive && !cluster.aborted) {
    if (Fiber *next = pickFiber(cluster, nullptr)) {
      self = next;
      emu::switchTo({&cluster.mainStack, next->stackPointer});
    } else if (!landOne(cluster, /*nobodyRuns=*/true)) {
      if (!cluster.spinning.empty())
        return Outcome::Spinning;
      reportDeadlock(cluster);
    }
  }
  if (cluster.aborted)
    abandon(cluster);
  else
    finishLoads(cluster);
  return Outcome::Ended;
}

void abandon(Cluster &cluster) { // the frames on the stacks are lost; all stacks start afresh
  for (Block &block : cluster.blocks)
    for (Fiber &fiber : block.fibers) {
      fiber.stackPointer = nullptr;
      forgetCopies(fiber);
    }
  cluster.aborted = true;
}

} // namespace ingot::emulator
