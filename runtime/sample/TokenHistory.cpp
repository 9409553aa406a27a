//===- TokenHistory.cpp - Distinct ids with their counts ------------------===//
#include "runtime/sample/TokenHistory.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace ingot::runtime {

TokenHistory::TokenHistory(std::span<const int32_t> prompt, int64_t maxNew, int64_t window) {
  assert(maxNew >= 0 && "the caller checks requests");
  if (window >= 0)
    prompt = prompt.last(std::min(prompt.size(), size_t(window)));
  size_t most = prompt.size() + size_t(maxNew);
  distinct.reserve(most);
  slots.assign(std::bit_ceil(2 * most + 2), -1); // at most half full, so probes stay short
  if (window >= 0 && size_t(window) < most) {    // otherwise no token ever leaves the window
    this->window = window;
    recent.reserve(size_t(window));
  }
  for (int32_t id : prompt)
    count(id, /*output=*/false);
}

void TokenHistory::count(int32_t id, bool output) {
  if (window == 0)
    return;
  Entry &entry = find(id);
  ++(output ? entry.inOutput : entry.inPrompt);
  if (window < 0)
    return;
  if (recent.size() < size_t(window)) {
    recent.push_back({id, output});
    return;
  }
  const Seen gone = std::exchange(recent[oldest], {id, output});
  oldest = (oldest + 1) % recent.size();
  Entry &left = find(gone.id);
  assert((gone.output ? left.inOutput : left.inPrompt) > 0 && "an id leaves the window twice");
  --(gone.output ? left.inOutput : left.inPrompt);
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
