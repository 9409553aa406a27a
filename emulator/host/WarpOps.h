//===- WarpOps.h - Warp-synchronous operations ----------------------------===//
#pragma once

#include "emulator/host/Scheduler.h"

namespace ingot::emulator {

const char *warpOpName(WarpOp op);
/// Reports lanes at two different operations, or an operation after a lane has exited. Does not return.
[[noreturn]] void failDivergent(Fiber &fiber, WarpOp op, Site site);

/// Enters a warp-synchronous operation. The last lane to arrive runs `complete(lanes)` for all, where
/// lanes[0…31] are the warp's fibers (fibers of lanes that do not exist never ran). A lane stores its inputs
/// in its operands beforehand.
template <class F> Switch meet(WarpOp op, Site site, F &&complete) {
  Fiber &fiber = *self;
  Warp &warp = *fiber.warp;
  if (!warp.arrived) {
    warp.op = op;
    warp.site = site;
  }
  if (warp.op != op || warp.site.line != site.line || warp.alive != warp.all || warp.inBarrier)
    failDivergent(fiber, op, site);
  warp.arrived |= 1u << fiber.lane;
  if (warp.arrived != warp.all)
    return suspend(fiber, warpOpName(op), site);
  warp.arrived = 0;
  Fiber *lanes = &fiber.block->fibers[warp.index * 32];
  complete(lanes);
  wakeLanes(warp, warp.all & ~(1u << fiber.lane));
  return {};
}

} // namespace ingot::emulator
