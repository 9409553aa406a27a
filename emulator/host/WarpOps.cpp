//===- WarpOps.cpp - Barriers, shuffles, votes, reductions ----------------===//
#include "emulator/host/WarpOps.h"

#include "emulator/host/Races.h"

#include <algorithm>
#include <cstring>

namespace ingot::emulator {

const char *warpOpName(WarpOp op) {
  switch (op) {
  case WarpOp::None:
    return "nothing";
  case WarpOp::WarpBarrier:
    return "sync_warp";
  case WarpOp::Shuffle:
    return "a shuffle";
  case WarpOp::Vote:
    return "a vote";
  case WarpOp::Reduce:
    return "a warp reduction";
  case WarpOp::LoadMatrix:
    return "ldmatrix";
  case WarpOp::Multiply:
    return "mma";
  case WarpOp::WgmmaWait:
    return "wgmma_wait";
  }
  return "";
}

void failDivergent(Fiber &fiber, WarpOp op, Site site) {
  Warp &warp = *fiber.warp;
  std::string text = "thread " + std::to_string(fiber.id) + " arrives at " + warpOpName(op);
  if (warp.alive != warp.all)
    fail(fiber, Rule::DivergentWarp, text + " after lanes of its warp have left", Where(site));
  if (warp.inBarrier)
    fail(fiber, Rule::DivergentWarp, text + ", other lanes wait in a barrier of the block",
         Where(site));
  text += " at line " + std::to_string(site.line) + ", other lanes are in " + warpOpName(warp.op) +
          " at line " + std::to_string(warp.site.line);
  fail(fiber, Rule::DivergentWarp, text, Where(site), Where(warp.site));
}

void releaseBarrier(Barrier &barrier) {
  Fiber &any = *barrier.waiting[0];
  if (&barrier == &any.block->barriers[0] && any.block->exited)
    report(any, Rule::DivergentBarrier,
           std::to_string(any.block->exited) + " threads have left, the others meet here",
           Where(barrier.site));
  join(barrier.waiting.data(), barrier.waiting.size(),
       barrier.arrivedOnly && isChecked(any) ? barrier.brought.data() : nullptr);
  for (Fiber *fiber : barrier.waiting) {
    fiber->warp->inBarrier &= ~(1u << fiber->lane);
    if (fiber != self)
      wake(*fiber);
  }
  barrier.waiting.clear();
  barrier.arrivedOnly = 0;
}

namespace {

Barrier &enterBarrier(u32 id, u32 count, Site site) {
  Fiber &fiber = *self;
  if (id > 15 || count % 32 || (id == 0 && count))
    fail(fiber, Rule::BadOperand,
         "barrier " + std::to_string(id) + " of " + std::to_string(count) +
             " threads: ids are 1 to 15, counts whole warps",
         Where(site));
  if (fiber.warp->arrived)
    fail(fiber, Rule::DivergentWarp,
         "thread " + std::to_string(fiber.id) + " arrives at a barrier, other lanes are in " +
             warpOpName(fiber.warp->op),
         Where(site), Where(fiber.warp->site));
  Barrier &barrier = fiber.block->barriers[id];
  if (barrier.waiting.empty() && !barrier.arrivedOnly) {
    barrier.site = site;
    barrier.count = count;
    if (isChecked(fiber))
      barrier.brought.assign(fiber.block->cluster->clockWidth, 0);
  } else if (barrier.count != count) {
    fail(fiber, Rule::DivergentBarrier,
         "thread " + std::to_string(fiber.id) + " counts " + std::to_string(count) +
             " threads at a barrier of " + std::to_string(barrier.count),
         Where(site), Where(barrier.site));
  } else if (id == 0 && barrier.site.line != site.line) {
    report(fiber, Rule::DivergentBarrier,
           "thread " + std::to_string(fiber.id) + " is at line " + std::to_string(site.line) +
               ", thread " + std::to_string(barrier.waiting[0]->id) + " at line " +
               std::to_string(barrier.site.line),
           Where(site), Where(barrier.site));
  }
  return barrier;
}

bool isComplete(const Barrier &barrier, const Block &block) {
  const size_t wanted = barrier.count ? barrier.count : block.alive;
  return barrier.waiting.size() + barrier.arrivedOnly == wanted;
}

} // namespace
} // namespace ingot::emulator

// ---------------------------------------------------------------- entries

using namespace ingot::emulator;

namespace emu {
inline namespace v1 {

Index3 threadIndex() { return self->index; }
Index3 blockIndex() { return self->block->index; }
Index3 gridExtent() {
  const ingot::emulator::Extent &e = self->block->cluster->launch->spec->grid;
  return {e.x, e.y, e.z};
}
Index3 blockExtent() {
  const ingot::emulator::Extent &e = self->block->cluster->launch->spec->block;
  return {e.x, e.y, e.z};
}

Switch barrier(u32 id, u32 count, Site site) {
  Fiber &fiber = *self;
  Barrier &barrier = enterBarrier(id, count, site);
  barrier.waiting.push_back(&fiber);
  fiber.warp->inBarrier |= 1u << fiber.lane;
  if (!isComplete(barrier, *fiber.block))
    return suspend(fiber, id ? "sync_named" : "sync_block", site);
  releaseBarrier(barrier);
  return {};
}

void barrierArrive(u32 id, u32 count, Site site) {
  Fiber &fiber = *self;
  Barrier &barrier = enterBarrier(id, count, site);
  if (isChecked(fiber))
    publish(fiber, barrier.brought.data());
  barrier.arrivedOnly++;
  if (!isComplete(barrier, *fiber.block))
    return;
  if (barrier.waiting.empty())
    barrier.arrivedOnly = 0;
  else
    releaseBarrier(barrier);
}

Switch warpBarrier(Site site) {
  return meet(WarpOp::WarpBarrier, site, [](Fiber *lanes) {
    Fiber *set[32];
    size_t n = 0;
    for (u32 rest = lanes->warp->all; rest; rest &= rest - 1)
      set[n++] = lanes + __builtin_ctz(rest);
    join(set, n, nullptr);
  });
}

Switch shuffle(u32 *value, Shuffle kind, u32 argument, Site site) {
  Fiber &fiber = *self;
  fiber.operand[0] = value;
  switch (kind) {
  case Shuffle::Xor:
    argument ^= fiber.lane;
    break;
  case Shuffle::Index:
    break;
  case Shuffle::Up:
    argument = argument > fiber.lane ? fiber.lane : fiber.lane - argument;
    break;
  case Shuffle::Down:
    argument = fiber.lane + argument;
    break;
  }
  fiber.argument[0] = kind == Shuffle::Down && argument > 31 ? fiber.lane : argument & 31;
  return meet(WarpOp::Shuffle, site, [](Fiber *lanes) {
    u32 given[32];
    for (u32 rest = lanes->warp->all; rest; rest &= rest - 1) {
      const u32 lane = u32(__builtin_ctz(rest)), from = lanes[lane].argument[0];
      const bool exists = lanes->warp->all >> from & 1;
      given[lane] = *static_cast<u32 *>(lanes[exists ? from : lane].operand[0]);
    }
    for (u32 rest = lanes->warp->all; rest; rest &= rest - 1)
      *static_cast<u32 *>(lanes[__builtin_ctz(rest)].operand[0]) = given[__builtin_ctz(rest)];
  });
}

Switch vote(u32 *value, Vote kind, Site site) {
  self->operand[0] = value;
  return meet(WarpOp::Vote, site, [kind](Fiber *lanes) {
    const u32 all = lanes->warp->all;
    u32 ballot = 0;
    for (u32 rest = all; rest; rest &= rest - 1)
      ballot |= (*static_cast<u32 *>(lanes[__builtin_ctz(rest)].operand[0]) & 1)
                << __builtin_ctz(rest);
    const u32 result = kind == Vote::Ballot ? ballot
                       : kind == Vote::Any  ? ballot != 0
                                            : ballot == all;
    for (u32 rest = all; rest; rest &= rest - 1)
      *static_cast<u32 *>(lanes[__builtin_ctz(rest)].operand[0]) = result;
  });
}

Switch reduce(void *value, Reduction kind, u32 first, u32 last, Site site) {
  Fiber &fiber = *self;
  fiber.operand[0] = value;
  return meet(WarpOp::Reduce, site, [=](Fiber *lanes) {
    // A lane that does not exist contributes its partner's value: GPUs leave this undefined.
    auto butterfly = [&]<class T>(T, auto &&combine) {
      T now[32] = {}, next[32];
      for (u32 rest = lanes->warp->all; rest; rest &= rest - 1)
        now[__builtin_ctz(rest)] = *static_cast<T *>(lanes[__builtin_ctz(rest)].operand[0]);
      for (u32 distance = first; distance >= last && distance; distance >>= 1) {
        for (u32 i = 0; i < 32; i++)
          next[i] = combine(now[i], now[i ^ distance]);
        memcpy(now, next, sizeof now);
      }
      for (u32 rest = lanes->warp->all; rest; rest &= rest - 1)
        *static_cast<T *>(lanes[__builtin_ctz(rest)].operand[0]) = now[__builtin_ctz(rest)];
    };
    auto greater = [](float a, float b) { return b > a || a != a ? b : a; };
    switch (kind) {
    case Reduction::SumF32:
      return butterfly(0.0f, [](float a, float b) { return a + b; });
    case Reduction::MaxF32:
      return butterfly(0.0f, greater);
    case Reduction::SumI32:
      return butterfly(u32(0), [](u32 a, u32 b) { return a + b; });
    case Reduction::MaxI32:
      return butterfly(int(0), [](int a, int b) { return std::max(a, b); });
    }
  });
}

// ---------------------------------------------------------------- shared memory

void *sharedArray(u64 bytes, u64 alignment, const void *key, Site site) {
  Fiber &fiber = *self;
  Block &block = *fiber.block;
  for (const StaticArray &array : block.arrays)
    if (array.key == key)
      return block.shared + array.offset;
  const u64 offset = (block.used + alignment - 1) & ~(alignment - 1);
  constexpr u64 kRedZone = 32, kStaticLimit = 48 * 1024;
  block.declared += u32((bytes + 15) & ~u64(15));
  if (block.declared > kStaticLimit || offset + bytes + kRedZone > kWindow)
    fail(fiber, Rule::BadOperand,
         "arrays of " + std::to_string(block.declared) + " bytes; the limit is " +
             std::to_string(kStaticLimit) + ", more must be dynamic",
         Where(site));
  block.used = u32(offset + bytes + kRedZone);
  memset(block.shared + offset, 0xff, bytes);
  if (isChecked(fiber))
    declareCells(block, u32(offset), u32(bytes));
  block.arrays.push_back({key, u32(offset)});
  return block.shared + offset;
}

u8 *dynamicShared() { return reinterpret_cast<u8 *>(self->block->shared); }

} // namespace v1
} // namespace emu
