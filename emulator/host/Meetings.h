//===- Meetings.h - Warp-synchronous operations ----------------------------===//
#pragma once

#include "emulator/host/Scheduler.h"

namespace ingot::emulator {

const char *meetingName(Meeting meeting);
/// Reports lanes at two different operations, or an operation after a lane has exited. Does not return.
[[noreturn]] void failDivergent(Fiber &fiber, Meeting meeting, Site site);

/// Enters a warp-synchronous operation. The last lane to arrive runs `complete(lanes)` for all, where
/// lanes[0…31] are the warp's fibers (fibers of lanes that do not exist never ran). A lane stores its inputs
/// in its operands beforehand.
template <class F> Switch meet(Meeting meeting, Site site, F &&complete) {
  Fiber &fiber = *self;
  Warp &warp = *fiber.warp;
  if (!warp.arrived) {
    warp.meeting = meeting;
    warp.site = site;
  }
  if (warp.meeting != meeting || warp.site.line != site.line || warp.alive != warp.all ||
      warp.inBarrier)
    failDivergent(fiber, meeting, site);
  warp.arrived |= 1u << fiber.lane;
  if (warp.arrived != warp.all)
    return suspend(fiber, meetingName(meeting), site);
  warp.arrived = 0;
  Fiber *lanes = &fiber.block->fibers[warp.index * 32];
  complete(lanes);
  wakeLanes(warp, warp.all & ~(1u << fiber.lane));
  return {};
}

} // namespace ingot::emulator
