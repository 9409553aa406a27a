//===- Meetings.h - Operations that a whole warp does together -------------===//
#pragma once

#include "emulator/host/Scheduler.h"

namespace ingot::emulator {

const char *meetingName(Meeting meeting);
/// Lanes at two different operations, or at one after a lane has left: does not return.
[[noreturn]] void failDivergent(Fiber &fiber, Meeting meeting, Site site);

/// The running lane comes to a meeting; the last one runs `complete(lanes)` for all, where
/// lanes[0…31] are the warp's fibers (those of lanes that do not exist have not run). What a lane
/// brings lies in its operands, set before.
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
