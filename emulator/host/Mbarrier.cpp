//===- Mbarrier.cpp - mbarriers, and copies that complete on them ------------===//
//
// A bulk or tensor copy completes only when no thread can run. The oldest copy completes first. (With a
// seed, a copy sometimes completes at once, and the others in any order.) Until then its destination is NaN,
// and for the race checks an engine is writing it. Only a wait on its mbarrier orders that write before other
// accesses.
//===----------------------------------------------------------------------===//
#include "emulator/host/Races.h"
#include "emulator/host/Scheduler.h"
#include "emulator/host/TensorMap.h"

#include <algorithm>
#include <cstring>

namespace ingot::emulator {
namespace {

/// A copy reads these bytes if its source was never written. They are NaN in every float format.
const char kNever[16] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

Mbarrier *findMbarrier(Cluster &cluster, u32 place) {
  for (Mbarrier &bar : cluster.mbarriers)
    if (bar.place == place)
      return &bar;
  return nullptr;
}

u32 placeOf(Fiber &fiber, const u64 *bar, Site site) {
  u32 place;
  if (!inShared(fiber, bar, place) || place % 8)
    fail(fiber, Rule::Misaligned, "an mbarrier is 8 aligned bytes of shared memory", Where(site));
  return place;
}

Mbarrier &mbarrierAt(Fiber &fiber, u32 place, Site site) {
  if (Mbarrier *bar = findMbarrier(*fiber.block->cluster, place))
    return *bar;
  fail(fiber, Rule::Mbarrier,
       "not initialised: shared byte " + std::to_string(place % kWindow) + " of block " +
           std::to_string(place / kWindow),
       Where(site));
}

/// Ends the phase if all arrivals and all bytes are complete.
void settle(Cluster &cluster, Mbarrier &bar) {
  if (bar.pending || bar.bytes)
    return;
  bar.phase++;
  bar.pending = bar.count;
  const bool checked = cluster.launch->checked;
  if (checked) {
    mergeRow(cluster, bar.finished.data(), bar.current.data());
    mergeReads(bar.finishedReads, bar.currentReads);
  }
  for (Fiber *fiber : bar.waiting) {
    if (checked) {
      mergeRow(cluster, ownRow(*fiber), bar.finished.data());
      mergeReads(fiber->readsDone, bar.finishedReads);
    }
    wake(*fiber);
  }
  bar.waiting.clear();
}

void arrive(Fiber &fiber, u32 place, u32 arrivals, u32 bytes, bool relaxed, Site site) {
  Cluster &cluster = *fiber.block->cluster;
  Mbarrier &bar = mbarrierAt(fiber, place, site);
  if (isChecked(fiber)) {
    sharedAccess(asThread(fiber), place, 8, false,
                 Where(site)); // checks that it is ordered after the initialisation
    if (arrivals && relaxed)
      publishReads(fiber, bar.currentReads);
    else if (arrivals) {
      mergeReads(bar.currentReads, fiber.readsDone);
      publish(fiber, bar.current.data());
    }
  }
  if (bar.pending < arrivals)
    fail(fiber, Rule::Mbarrier, "more arrivals than its count of " + std::to_string(bar.count),
         Where(site));
  bar.bytes += bytes;
  bar.pending -= arrivals;
  settle(cluster, bar);
}

void landAt(Cluster &cluster, size_t index, bool nobodyRuns) {
  const BulkLoad load = std::move(cluster.loads[index]);
  cluster.loads.erase(cluster.loads.begin() + ptrdiff_t(index));
  for (const BulkPiece &piece : load.pieces)
    if (piece.source)
      memcpy(cluster.shared.data() + piece.offset, piece.source, piece.bytes);
    else
      memset(cluster.shared.data() + piece.offset, 0, piece.bytes);
  Mbarrier *bar = findMbarrier(cluster, load.mbarrier);
  Fiber &any = cluster.blocks[load.mbarrier / kWindow].fibers[0];
  if (!bar) {
    report(any, Rule::Mbarrier, "a copy reports to an mbarrier that does not exist", load.where);
    cluster.aborted = true;
    return;
  }
  if (cluster.launch->checked)
    bar->current[load.engine] = std::max(bar->current[load.engine], load.clock);
  bar->bytes -= load.bytes;
  // A thread may announce the bytes after they arrive, but not if no thread can run.
  if (bar->bytes < 0 && nobodyRuns) {
    report(any, Rule::Mbarrier,
           std::to_string(-bar->bytes) + " bytes arrive that no expect_tx announced", load.where);
    cluster.aborted = true;
    return;
  }
  settle(cluster, *bar);
}

/// The common part of all bulk copies. `pieces`: offsets from the start of a block's window.
void startLoad(Fiber &fiber, std::vector<BulkPiece> pieces, u32 bytes, const u64 *bar, u32 blocks,
               Site site) {
  Block &block = *fiber.block;
  Cluster &cluster = *block.cluster;
  const u32 own = placeOf(fiber, bar, site);
  if (own / kWindow != block.rank)
    fail(fiber, Rule::BadOperand, "a copy reports to an mbarrier of its own block", Where(site));
  if (blocks >> cluster.blocks.size())
    fail(fiber, Rule::Cluster, "multicast to a block that the cluster does not have", Where(site));
  for (u32 rank = 0; rank < cluster.blocks.size(); rank++) {
    if (!(blocks ? blocks >> rank & 1 : rank == block.rank))
      continue;
    const u32 window = rank * kWindow, place = window + own % kWindow;
    const Mbarrier &at = mbarrierAt(fiber, place, site);
    const u32 number = u32(&at - cluster.mbarriers.data());
    BulkLoad load{
        {}, place, bytes, copyEngine(cluster.blocks[rank], number), ++block.copyClock, Where(site)};
    for (BulkPiece piece : pieces) {
      piece.offset += window;
      if (cluster.launch->checked)
        sharedAccess({fiber, load.engine, load.clock, /*engine=*/true}, piece.offset, piece.bytes,
                     true, Where(site));
      memset(cluster.shared.data() + piece.offset, 0xff, piece.bytes);
      load.pieces.push_back(piece);
    }
    cluster.loads.push_back(std::move(load));
  }
  cluster.random = cluster.random * 1664525u + 1013904223u;
  if (cluster.launch->seed && (cluster.random >> 30) == 0)
    landAt(cluster, cluster.loads.size() - 1, /*nobodyRuns=*/false);
}

} // namespace

bool landOne(Cluster &cluster, bool nobodyRuns) {
  if (cluster.loads.empty())
    return false;
  const bool any = cluster.launch->seed != 0;
  landAt(cluster, any ? (cluster.random >> 16) % cluster.loads.size() : 0, nobodyRuns);
  return true;
}

void finishLoads(Cluster &cluster) {
  for (const BulkLoad &load : cluster.loads)
    report(cluster.blocks[load.mbarrier / kWindow].fibers[0], Rule::CopyNeverWaited,
           "the block leaves before a copy of " + std::to_string(load.bytes) + " bytes has landed",
           load.where);
  while (landOne(cluster, /*nobodyRuns=*/true)) {
  }
}

} // namespace ingot::emulator

using namespace ingot::emulator;

namespace emu {
inline namespace v1 {

void mbarInit(u64 *bar, u32 count, Site site) {
  Fiber &fiber = *self;
  Cluster &cluster = *fiber.block->cluster;
  const u32 place = placeOf(fiber, bar, site);
  if (isChecked(fiber))
    sharedAccess(asThread(fiber), place, 8, true, Where(site));
  const size_t width = isChecked(fiber) ? cluster.clockWidth : 0;
  Mbarrier fresh{place, count, count, 0, 0, std::vector<u32>(width), std::vector<u32>(width), {}};
  if (Mbarrier *old = findMbarrier(cluster, place))
    *old = std::move(fresh);
  else
    cluster.mbarriers.push_back(std::move(fresh));
}

void mbarArrive(u64 *bar, u32 arrivals, u32 bytes, Site site) {
  arrive(*self, placeOf(*self, bar, site), arrivals, bytes, /*relaxed=*/false, site);
}

void fenceMbarInit() { self->mbarInitClock = self->clock++; }

void mbarArriveRemote(u64 *bar, u32 rank, bool relaxed, Site site) {
  Fiber &fiber = *self;
  if (rank >= fiber.block->cluster->blocks.size())
    fail(fiber, Rule::Cluster, "no block " + std::to_string(rank) + " in the cluster", Where(site));
  arrive(fiber, placeOf(fiber, bar, site) % kWindow + rank * kWindow, 1, 0, relaxed, site);
}

bool mbarTest(u64 *bar, u32 parity, Site site) {
  Fiber &fiber = *self;
  Mbarrier &at = mbarrierAt(fiber, placeOf(fiber, bar, site), site);
  if (isChecked(fiber))
    sharedAccess(asThread(fiber), at.place, 8, false, Where(site));
  if ((at.phase & 1) == parity)
    return false;
  if (isChecked(fiber)) {
    mergeRow(*fiber.block->cluster, ownRow(fiber), at.finished.data());
    mergeReads(fiber.readsDone, at.finishedReads);
  }
  return true;
}

Switch mbarWait(u64 *bar, u32 parity, Site site) {
  if (mbarTest(bar, parity, site))
    return {};
  Fiber &fiber = *self;
  mbarrierAt(fiber, placeOf(fiber, bar, site), site).waiting.push_back(&fiber);
  return suspend(fiber, "mbar_wait", site);
}

void bulkLoad(void *shared, const void *global, u32 bytes, u64 *bar, u32 blocks, Site site) {
  Fiber &fiber = *self;
  u32 place;
  if (!inShared(fiber, shared, place) || place / kWindow != fiber.block->rank || place % 16 ||
      u64(global) % 16 || bytes % 16)
    fail(fiber, Rule::Misaligned, "bulk_load: addresses and size must be multiples of 16",
         Where(site));
  if (isChecked(fiber))
    globalAccess(fiber, global, bytes, false, Where(site));
  startLoad(fiber, {{place % kWindow, global, bytes}}, bytes, bar, blocks, site);
}

void tensorLoad(void *shared, const void *map, int x, int y, u64 *bar, u32 blocks, Site site) {
  Fiber &fiber = *self;
  TensorMapImage image;
  memcpy(&image, map, sizeof image);
  if (u64(map) % 64 || image.magic != TensorMapImage::kMagic)
    fail(fiber, Rule::BadOperand, "not a tensor map of encodeTensorMap, or not 64-byte aligned",
         Where(site));
  const TensorMatrix &m = image.matrix;
  const u32 rowBytes = image.boxRowBytes();
  u32 place;
  if (!inShared(fiber, shared, place) || place / kWindow != fiber.block->rank ||
      place % (m.swizzle128 ? 1024 : 128))
    fail(fiber, Rule::Misaligned,
         "tensor_load_2d: the box must start on a 128-byte line, with the swizzle on a 1024-byte "
         "one",
         Where(site));
  // Pieces of 16 bytes, the unit of the swizzle. Elements outside the matrix are zero.
  std::vector<BulkPiece> pieces;
  for (u32 row = 0; row < m.boxRows; row++)
    for (u32 chunk = 0; chunk < rowBytes / 16; chunk++) {
      const u32 pitch = m.swizzle128 ? 128 : rowBytes, at = row * pitch + chunk * 16;
      const u32 to = place % kWindow + (m.swizzle128 ? at ^ (at >> 3 & 0x70) : at);
      const int64_t from = int64_t(x) * m.elementBytes + chunk * 16, r = int64_t(y) + row;
      const int64_t width = int64_t(m.columns) * m.elementBytes;
      const bool rowInside = r >= 0 && r < int64_t(m.rows);
      const char *source = static_cast<const char *>(m.base) + r * int64_t(m.rowBytes) + from;
      const int64_t first = std::clamp<int64_t>(-from, 0, 16),
                    end = std::clamp<int64_t>(width - from, 0, 16);
      if (!rowInside || first >= end) {
        pieces.push_back({to, nullptr, 16});
        continue;
      }
      if (first)
        pieces.push_back({to, nullptr, u32(first)});
      // A box may include rows that were never written. Their values must not matter, so they become NaN.
      const bool written =
          !isChecked(fiber) || !neverWritten(fiber, source + first, u32(end - first));
      pieces.push_back({to + u32(first), written ? source + first : kNever, u32(end - first)});
      if (end < 16)
        pieces.push_back({to + u32(end), nullptr, u32(16 - end)});
      if (isChecked(fiber) && written)
        globalAccess(fiber, source + first, u32(end - first), false, Where(site));
    }
  startLoad(fiber, std::move(pieces), image.boxBytes(), bar, blocks, site);
}

} // namespace v1
} // namespace emu
