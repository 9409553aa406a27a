//===- KvSaturation.h - Counts values that an f16 KV cache cannot hold ----===//
//
// The maximum of f16 is 65,504. K and V values beyond that are stored as that number
// (codegen/cpu/RopeRound.h). This avoids infinities, but changes logits. Scoring a text therefore
// reports how many stored values are at the maximum. A value that merely rounds to 65,504 is counted
// as well.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Executor.h"

#include <vector>

namespace ingot::runtime {

class KvSaturation {
public:
  explicit KvSaturation(Executor &executor);

  /// Called after each step of a single sequence that began at position 0. Adds the values of the pages
  /// that the step has filled.
  void afterStep(const BatchView &batch);
  /// Adds the values of the last page, which is only partly filled. Returns the total count.
  int64_t finish();

private:
  void look(size_t group, int32_t page);

  struct Slot {
    uint64_t bytes; ///< of a page
    bool isF16;
  };
  PageMover *mover;
  std::vector<std::vector<Slot>> groups; ///< empty if no state is f16
  std::vector<int32_t> begun;            ///< for each group, the page that is partly filled; -1:
                                         ///< none
  std::vector<std::byte> page;
  int64_t next = 0; ///< first page of the sequence that has not been counted yet
  int64_t count = 0;
};

} // namespace ingot::runtime
