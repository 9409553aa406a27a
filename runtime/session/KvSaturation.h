//===- KvSaturation.h - Values that an f16 KV cache could not hold --------===//
//
// f16 ends at 65,504. K and V beyond that are stored as that number (codegen/cpu/RopeRound.h): no
// infinity comes of it, but other logits. Who scores a text is told how many values lie there; one
// that rounds to 65,504 is counted as well.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Executor.h"

#include <vector>

namespace ingot::runtime {

class KvSaturation {
public:
  explicit KvSaturation(Executor &executor);

  /// After a step of one sequence alone; the first began at position 0. Pages that it has filled
  /// are looked at.
  void afterStep(const BatchView &batch);
  /// The same of the page that was begun last. Values so far.
  int64_t finish();

private:
  void look(size_t group, int32_t page);

  struct Slot {
    uint64_t bytes; ///< of a page
    bool isF16;
  };
  PageMover *mover;
  std::vector<std::vector<Slot>> groups; ///< empty where nothing is f16
  std::vector<int32_t> begun;            ///< of each group, the page that is not full; -1: none
  std::vector<std::byte> page;
  int64_t next = 0; ///< page of the sequence that was not looked at yet
  int64_t count = 0;
};

} // namespace ingot::runtime
