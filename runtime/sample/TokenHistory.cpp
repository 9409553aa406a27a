//===- TokenHistory.cpp - Distinct ids with their counts ------------------===//
#include "runtime/sample/TokenHistory.h"

#include <bit>
#include <cassert>

namespace ingot::runtime {

TokenHistory::TokenHistory(std::span<const int32_t> prompt, int64_t maxNew) {
  size_t most = prompt.size() + size_t(maxNew);
  distinct.reserve(most);
  slots.assign(std::bit_ceil(2 * most + 2), -1); // at most half full: probes stay short
  for (int32_t id : prompt)
    ++find(id).inPrompt;
}

TokenHistory::Entry &TokenHistory::find(int32_t id) {
  size_t mask = slots.size() - 1;
  size_t slot = (uint32_t(id) * 0x9E3779B1u) & mask;
  while (slots[slot] >= 0 && distinct[size_t(slots[slot])].id != id)
    slot = (slot + 1) & mask;
  if (slots[slot] < 0) {
    assert(distinct.size() < distinct.capacity() && "more ids than the request announced");
    slots[slot] = int32_t(distinct.size());
    distinct.push_back({id, 0, 0});
  }
  return distinct[size_t(slots[slot])];
}

} // namespace ingot::runtime
