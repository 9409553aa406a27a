//===- StateMemory.h - Memory for the hidden states of searches ------------===//
//
// A contrastive search keeps a hidden state for each token of prompt and answer: tokens * hidden *
// 4 bytes. The bytes are reserved when the search is queued and released when it is destroyed. All
// searches share a limit, so that their total is bounded. All functions may be called from any thread.
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>

namespace ingot::runtime {

class StateMemory {
public:
  explicit StateMemory(uint64_t limit) : most(limit) {}

  uint64_t limit() const { return most; }
  uint64_t inUse() const { return taken->load(); }
  /// Reserves `bytes` until the last copy of the result is destroyed. Returns null if that many are not
  /// free now.
  std::shared_ptr<const void> take(uint64_t bytes) {
    uint64_t before = taken->load();
    do {
      assert(before <= most && "more was given than there is");
      if (bytes > most - before)
        return nullptr;
    } while (!taken->compare_exchange_weak(before, before + bytes));
    return std::shared_ptr<const void>(
        this, [count = taken, bytes](const void *) { count->fetch_sub(bytes); });
  }

private:
  uint64_t most;
  std::shared_ptr<std::atomic<uint64_t>> taken = std::make_shared<std::atomic<uint64_t>>(0);
};

} // namespace ingot::runtime
