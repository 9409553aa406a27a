//===- threads.cuh - Barriers, shuffles, votes, reductions -----------------===//
#pragma once

DEVICE void sync_block(INGOT_SITE) { emu::switchTo(emu::barrier(0, 0, site)); }
DEVICE void sync_named(u32 id, u32 threads, INGOT_SITE) {
  emu::switchTo(emu::barrier(id, threads, site));
}
DEVICE void arrive_named(u32 id, u32 threads, INGOT_SITE) { emu::barrierArrive(id, threads, site); }
DEVICE void sync_warp(INGOT_SITE) { emu::switchTo(emu::warpBarrier(site)); }

namespace emu {
template <class T> DEVICE T shuffled(T value, Shuffle kind, u32 argument, Site site) {
  u32 word = __builtin_bit_cast(u32, value);
  switchTo(shuffle(&word, kind, argument, site));
  return __builtin_bit_cast(T, word);
}
DEVICE u32 voted(bool value, Vote kind, Site site) {
  u32 word = value;
  switchTo(vote(&word, kind, site));
  return word;
}
} // namespace emu

template <class T> DEVICE T shfl_xor(T value, u32 mask, INGOT_SITE) {
  return emu::shuffled(value, emu::Shuffle::Xor, mask, site);
}
template <class T> DEVICE T shfl_idx(T value, u32 lane, INGOT_SITE) {
  return emu::shuffled(value, emu::Shuffle::Index, lane, site);
}
template <class T> DEVICE T shfl_up(T value, u32 delta, INGOT_SITE) {
  return emu::shuffled(value, emu::Shuffle::Up, delta, site);
}
template <class T> DEVICE T shfl_down(T value, u32 delta, INGOT_SITE) {
  return emu::shuffled(value, emu::Shuffle::Down, delta, site);
}

DEVICE u32 warp_ballot(bool value, INGOT_SITE) {
  return emu::voted(value, emu::Vote::Ballot, site);
}
DEVICE bool warp_any(bool value, INGOT_SITE) { return emu::voted(value, emu::Vote::Any, site); }
DEVICE bool warp_all(bool value, INGOT_SITE) { return emu::voted(value, emu::Vote::All, site); }

// A whole butterfly takes one synchronisation instead of five, because decode kernels spend much of
// their time in reductions.
template <int First = 16, int Last = 1> DEVICE float warp_sum(float value, INGOT_SITE) {
  emu::switchTo(emu::reduce(&value, emu::Reduction::SumF32, First, Last, site));
  return value;
}
template <int First = 16, int Last = 1> DEVICE i32 warp_sum(i32 value, INGOT_SITE) {
  emu::switchTo(emu::reduce(&value, emu::Reduction::SumI32, First, Last, site));
  return value;
}
template <int First = 16, int Last = 1> DEVICE float warp_max(float value, INGOT_SITE) {
  emu::switchTo(emu::reduce(&value, emu::Reduction::MaxF32, First, Last, site));
  return value;
}
template <int First = 16, int Last = 1> DEVICE i32 warp_max(i32 value, INGOT_SITE) {
  emu::switchTo(emu::reduce(&value, emu::Reduction::MaxI32, First, Last, site));
  return value;
}
