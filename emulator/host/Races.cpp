//===- Races.cpp - Checks every access of a checked kernel ------------------===//
#include "emulator/host/Races.h"

#include "emulator/host/Scheduler.h"

#include <algorithm>
#include <cstring>

namespace ingot::emulator {

// ---------------------------------------------------------------- vector clocks

u32 *rowOf(Fiber &fiber) { return fiber.row ? fiber.row : fiber.warp->row; }

u32 *ownRow(Fiber &fiber) {
  if (!fiber.row) {
    Cluster &cluster = *fiber.block->cluster;
    fiber.row =
        &cluster
             .ownRows[size_t(fiber.block->rank * cluster.threads + fiber.id) * cluster.clockWidth];
    memcpy(fiber.row, fiber.warp->row, cluster.clockWidth * sizeof(u32));
  }
  return fiber.row;
}

void mergeRow(Cluster &cluster, u32 *into, const u32 *from) {
  for (u32 i = 0; i < cluster.clockWidth; i++)
    into[i] = std::max(into[i], from[i]);
}

void publish(Fiber &fiber, u32 *row) {
  mergeRow(*fiber.block->cluster, row, rowOf(fiber));
  row[fiber.clockId] = std::max(row[fiber.clockId], fiber.clock++);
}

void mergeReads(std::vector<u32> &into, const std::vector<u32> &from) {
  if (into.size() < from.size())
    into.resize(from.size());
  for (size_t i = 0; i < from.size(); i++)
    into[i] = std::max(into[i], from[i]);
}

void publishReads(Fiber &fiber, std::vector<u32> &reads) {
  reads.resize(fiber.block->cluster->clockWidth);
  mergeReads(reads, fiber.readsDone);
  publish(fiber, reads.data());
}

void join(Fiber *const *set, size_t count, const u32 *more) {
  if (!count || !isChecked(*set[0]))
    return;
  Cluster &cluster = *set[0]->block->cluster;
  const size_t rowBytes = cluster.clockWidth * sizeof(u32);
  static thread_local std::vector<u32> all;
  all.assign(rowOf(*set[0]), rowOf(*set[0]) + cluster.clockWidth);
  if (more)
    mergeRow(cluster, all.data(), more);
  for (size_t i = 1; i < count; i++)
    if (set[i]->row || set[i]->warp != set[i - 1]->warp)
      mergeRow(cluster, all.data(), rowOf(*set[i]));
  u32 present[kMaxThreads / 32] = {};
  for (size_t i = 0; i < count; i++) {
    all[set[i]->clockId] = set[i]->clock++;
    present[set[i]->warp->index] |= 1u << set[i]->lane;
  }
  Block &block = *set[0]->block; // barriers are local to a block
  for (Warp &warp : block.warps) {
    const u32 lanes = present[warp.index];
    Fiber *first = &block.fibers[warp.index * 32];
    if (!lanes)
      continue;
    if (lanes == warp.alive) { // all lanes of the warp have the same knowledge again
      memcpy(warp.row, all.data(), rowBytes);
      for (u32 rest = lanes; rest; rest &= rest - 1)
        first[__builtin_ctz(rest)].row = nullptr;
    } else
      for (u32 rest = lanes; rest; rest &= rest - 1)
        memcpy(ownRow(first[__builtin_ctz(rest)]), all.data(), rowBytes);
  }
}

u32 copyEngine(const Block &block, u32 mbarrierIndex) {
  const Cluster &c = *block.cluster;
  return block.rank * c.clockStride + c.threads + mbarrierIndex % kCopyEngines;
}
u32 storeEngine(const Block &block) {
  const Cluster &c = *block.cluster;
  return block.rank * c.clockStride + c.threads + kCopyEngines;
}
u32 tensorEngine(const Block &block, u32 warpgroup) { return storeEngine(block) + 1 + warpgroup; }

// ---------------------------------------------------------------- shared memory

namespace {

bool isOrdered(const Actor &actor, u32 id, u32 clock) {
  return id == actor.fiber.clockId || id == actor.id || clock <= rowOf(actor.fiber)[id];
}

bool isReadDone(const Actor &actor, u32 id, u32 clock) {
  const std::vector<u32> &done = actor.fiber.readsDone;
  return isOrdered(actor, id, clock) || (id < done.size() && clock <= done[id]);
}

std::string nameOf(const Cluster &cluster, u32 id) {
  const u32 rank = id / cluster.clockStride, who = id % cluster.clockStride;
  const std::string of =
      cluster.blocks.size() > 1 ? " of cluster block " + std::to_string(rank) : "";
  if (who < cluster.threads)
    return "thread " + std::to_string(who) + of;
  return (who < cluster.threads + kCopyEngines + 1 ? "the copy engine" : "wgmma") + of;
}

/// Calls f(cell, offset) for each cell of the bytes: one per 4 bytes, or per byte once a narrower access has
/// occurred. `whole`: f gives all bytes of a word the same state, so the cells are merged again.
template <class F> void forEachCell(Block &block, u32 offset, u32 bytes, bool whole, F &&f) {
  while (bytes) {
    const u32 word = offset >> 2, inside = offset & 3, n = std::min(bytes, 4 - inside);
    if (n == 4 && !block.split[word]) {
      f(block.words[word], offset);
    } else {
      if (!block.split[word]) {
        block.split[word] = 1;
        for (u32 i = 0; i < 4; i++)
          block.bytes[word * 4 + i] = block.words[word];
      }
      for (u32 i = 0; i < n; i++)
        f(block.bytes[offset + i], offset + i);
      if (n == 4 && whole) {
        block.split[word] = 0;
        block.words[word] = block.bytes[offset];
      }
    }
    offset += n;
    bytes -= n;
  }
}

struct Touch {
  const Actor &actor;
  Block &block; ///< the block that owns the memory
  bool write;
  Where where;

  void say(Rule rule, const Cell &cell, u32 offset, const char *what, u32 other) const {
    const Cluster &cluster = *block.cluster;
    std::string text = nameOf(cluster, actor.id) + (write ? " writes" : " reads") +
                       " shared byte " + std::to_string(offset) + ": " + what;
    if (other != ~0u)
      text += " by " + nameOf(cluster, other);
    report(actor.fiber, rule, std::move(text), where, cell.writtenAt);
  }

  void operator()(Cell &cell, u32 offset) const {
    if (cell.generation != block.generation)
      fail(actor.fiber, Rule::SharedBounds,
           nameOf(*block.cluster, actor.id) + " at shared byte " + std::to_string(offset) +
               ", which belongs to no array",
           where);
    checkWriter(cell, offset);
    if (write) {
      checkReaders(cell, offset);
      cell.writer = u16(actor.id);
      cell.writeClock = actor.clock;
      cell.writtenAt = where;
      cell.flags = kInitialised | (actor.atomic ? kAtomicWrite : 0);
      cell.readClock[0] = cell.readClock[1] = 0;
    } else {
      if (cell.reader[0] != actor.id && cell.readClock[0]) {
        cell.reader[1] = cell.reader[0];
        cell.readClock[1] = cell.readClock[0];
      }
      cell.reader[0] = u16(actor.id);
      cell.readClock[0] = actor.clock;
    }
  }

  void checkWriter(const Cell &cell, u32 offset) const {
    if (cell.flags & kInFlight)
      return say(Rule::CopyInFlight, cell, offset, "cp.async issued and not waited for",
                 cell.writer);
    if (!(cell.flags & kInitialised)) {
      if (!write)
        say(Rule::UninitialisedShared, cell, offset, "never written", ~0u);
      return;
    }
    if (actor.atomic && (cell.flags & kAtomicWrite))
      return;
    if (!isOrdered(actor, cell.writer, cell.writeClock))
      return say(Rule::SharedRace, cell, offset, "unordered with the write", cell.writer);
    // Writes by threads must pass the proxy fence before an engine reads them.
    const Cluster &cluster = *block.cluster;
    const u32 rank = cell.writer / cluster.clockStride, who = cell.writer % cluster.clockStride;
    if (actor.engine && !write && who < cluster.threads &&
        cell.writeClock > cluster.blocks[rank].fibers[who].fenceClock)
      say(Rule::MissingProxyFence, cell, offset, "no fence_proxy_async after the write",
          cell.writer);
  }

  void checkReaders(const Cell &cell, u32 offset) const {
    for (int i = 0; i < 2; i++)
      if (cell.readClock[i] && !isReadDone(actor, cell.reader[i], cell.readClock[i]))
        return say(Rule::SharedRace, cell, offset, "unordered with an earlier read",
                   cell.reader[i]);
  }
};

} // namespace

void sharedAccess(Actor actor, u32 place, u32 bytes, bool write, Where where) {
  Cluster &cluster = *actor.fiber.block->cluster;
  Block &block = cluster.blocks[place / kWindow];
  if (&block != actor.fiber.block) {
    if (!cluster.clusterPhase)
      report(actor.fiber, Rule::Cluster,
             "touches the shared memory of block " + std::to_string(block.rank) +
                 " before the first barrier of the cluster: it may not have started",
             where);
    if (!block.alive)
      report(actor.fiber, Rule::Cluster,
             "touches the shared memory of block " + std::to_string(block.rank) +
                 ", which has left",
             where);
  }
  forEachCell(block, place % kWindow, bytes, write, Touch{actor, block, write, where});
}

void declareCells(Block &block, u32 offset, u32 bytes) {
  forEachCell(block, offset, bytes, true, [&](Cell &cell, u32) {
    cell = Cell{};
    cell.generation = block.generation;
  });
}

void markInFlight(Block &block, u32 offset, u32 bytes) {
  forEachCell(block, offset, bytes, true, [](Cell &cell, u32) { cell.flags = kInFlight; });
}

void markLanded(Fiber &fiber, u32 offset, u32 bytes) {
  forEachCell(*fiber.block, offset, bytes, true, [&](Cell &cell, u32) {
    cell.flags = kInitialised;
    cell.writeClock = fiber.clock;
  });
}

// ---------------------------------------------------------------- global memory

namespace {

/// Returns the buffer that holds all the bytes, or null. Kernels alternate between a few buffers, so recent ones are
/// cached.
Buffer *bufferAt(Cluster &cluster, const char *at, u32 bytes) {
  auto holds = [&](const Buffer *b) { return at >= b->base && at + bytes <= b->base + b->bytes; };
  for (Buffer *buffer : cluster.recentBuffers)
    if (buffer && holds(buffer))
      return buffer;
  Buffer *buffer = cluster.launch->memory->before(at);
  if (!buffer || !holds(buffer))
    return nullptr;
  return cluster.recentBuffers[cluster.nextRecent++ % std::size(cluster.recentBuffers)] = buffer;
}

std::string describe(const Fiber &fiber, bool write, const Buffer &buffer, const void *p) {
  return "thread " + std::to_string(fiber.id) + (write ? " writes " : " reads ") + buffer.name +
         " at byte " + std::to_string(static_cast<const char *>(p) - buffer.base);
}

[[noreturn]] void outOfBounds(Fiber &fiber, const Buffer *buffer, const void *p, u32 bytes,
                              bool write, Where where) {
  const char *at = static_cast<const char *>(p);
  std::string text = "thread " + std::to_string(fiber.id) + (write ? " writes " : " reads ") +
                     std::to_string(bytes) + " bytes ";
  if (buffer && at < buffer->base + buffer->bytes + 4096)
    text += std::to_string(at + bytes - (buffer->base + buffer->bytes)) +
            " bytes past the end of " + buffer->name + " (" + std::to_string(buffer->bytes) +
            " bytes)";
  else
    text += "outside every buffer";
  fail(fiber, Rule::GlobalBounds, std::move(text), where);
}

} // namespace

void globalAccess(Fiber &fiber, const void *p, u32 bytes, bool write, Where where, bool atomic) {
  LaunchState &launch = *fiber.block->cluster->launch;
  const char *at = static_cast<const char *>(p);
  Buffer *const buffer = bufferAt(*fiber.block->cluster, at, bytes);
  if (!buffer)
    outOfBounds(fiber, launch.memory->before(p), p, bytes, write, where);
  if (buffer->constant) {
    if (write)
      report(fiber, Rule::ConstantWrite, describe(fiber, write, *buffer, p), where);
    return;
  }
  if (write && !fiber.waitedPdl)
    report(fiber, Rule::BeforeDependencyWait,
           describe(fiber, write, *buffer, p) + " before pdl_wait", where);
  const u64 mine = Buffer::ownerOf(launch.number, fiber.block->linear);
  const size_t first = size_t(at - buffer->base);
  for (size_t i = first / 2; i <= (first + bytes - 1) / 2; i++) {
    const u64 owner = __atomic_load_n(&buffer->owner[i], __ATOMIC_RELAXED);
    if (!owner && !write)
      report(fiber, Rule::UninitialisedGlobal, describe(fiber, write, *buffer, p), where);
    if (owner && Buffer::launchOf(owner) == launch.number) {
      const bool ordered = fiber.block->acquired && launch.released[Buffer::blockOf(owner)];
      if (owner != mine && !atomic && !ordered)
        report(fiber, Rule::RaceBetweenBlocks,
               describe(fiber, write, *buffer, p) + ", which block " +
                   std::to_string(Buffer::blockOf(owner)) + " writes in the same launch",
               where);
    } else if (owner && !fiber.waitedPdl && !write &&
               Buffer::launchOf(owner) >= launch.memory->completeBefore) {
      report(fiber, Rule::BeforeDependencyWait,
             describe(fiber, write, *buffer, p) + ", an earlier launch's result, before pdl_wait",
             where);
    }
    if (write)
      __atomic_store_n(&buffer->owner[i], mine, __ATOMIC_RELAXED);
  }
}

bool neverWritten(Fiber &fiber, const void *p, u32 bytes) {
  const char *at = static_cast<const char *>(p);
  const Buffer *const buffer = bufferAt(*fiber.block->cluster, at, bytes);
  if (!buffer || buffer->constant)
    return false;
  const size_t first = size_t(at - buffer->base);
  for (size_t i = first / 2; i <= (first + bytes - 1) / 2; i++)
    if (__atomic_load_n(&buffer->owner[i], __ATOMIC_RELAXED))
      return false;
  return true;
}

} // namespace ingot::emulator
