//===- SwapSpace.cpp - See SwapSpace.h -------------------------------------===//
#include "runtime/kv/SwapSpace.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

SwapSpace::SwapSpace(std::span<std::byte> memory) : memory(memory) {
  if (!memory.empty())
    free.push_back({0, memory.size()});
}

std::span<std::byte> SwapSpace::take(uint64_t bytes) {
  auto fits = std::ranges::find_if(free, [&](const Extent &e) { return e.end - e.begin >= bytes; });
  if (bytes == 0 || fits == free.end())
    return {};
  std::span<std::byte> extent = memory.subspan(fits->begin, bytes);
  fits->begin += bytes;
  if (fits->begin == fits->end)
    free.erase(fits);
  used += bytes;
  return extent;
}

void SwapSpace::giveBack(std::span<std::byte> extent) {
  if (extent.empty())
    return;
  uint64_t begin = uint64_t(extent.data() - memory.data()), end = begin + extent.size();
  assert(begin <= memory.size() && end <= memory.size() && "not an extent of this memory");
  assert(extent.size() <= used && "more is given back than was taken");
  auto next = std::ranges::lower_bound(free, begin, {}, &Extent::begin);
  assert((next == free.end() || end <= next->begin) && "given back twice");
  assert((next == free.begin() || std::prev(next)->end <= begin) && "given back twice");
  used -= extent.size();
  bool joinsNext = next != free.end() && next->begin == end;
  bool joinsLast = next != free.begin() && std::prev(next)->end == begin;
  if (joinsLast && joinsNext) {
    std::prev(next)->end = next->end;
    free.erase(next);
  } else if (joinsLast) {
    std::prev(next)->end = end;
  } else if (joinsNext) {
    next->begin = begin;
  } else {
    free.insert(next, {begin, end});
  }
}

} // namespace ingot::runtime
