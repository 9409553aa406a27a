//===- BatchImage.h - A batch as one piece of device memory ------------------===//
//
//   +-----------+-----+-----------+------------+-----------+-------+--------+------------+--------+
//   | BatchView | ids | positions | sequenceOf | rowTokens | tiles | shares | [sampling] | block  |
//   | of each   |     |           |            |           |       |        |            | tables |
//   | group     |     |           |            |           |       |        |            |        |
//   +-----------+-----+-----------+------------+-----------+-------+--------+------------+--------+
//   0           256 * groups … each on a 256-byte line
//
// Of engines with fixed states the spans and their writes stand before the block tables.
//
// Layers with an attention window have pages, and so a block table, of their own (engine/Inspect.h).
// A kernel knows no groups: its launch gets the view that points to its group's table, at
// kViewBytes * group, and all else in a view is that of every other.
//
// Tiles of prompts come first, tiles that decode behind them, and the runs of those are dealt here.
// One copy per step takes it over. Lists lie where this step's sizes put them, and the block
// tables are cut to the pages that the step's sequences have reached, so little is copied; their
// pointers are addresses on the device, and no view ever moves, so graphs need not change.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/device/cuda/AttentionShares.h"
#include "runtime/device/cuda/Driver.h"

#include <span>

namespace ingot::cuda {

/// From one group's view to the next.
constexpr uint64_t kViewBytes = 256;

/// Writes the image of `batch` for device memory at `device`, a 256-byte line, into `host`. The
/// bytes of the image; 0 if `host` is too small. Of more than one group, batch.groupTables has the
/// block tables.
uint64_t packBatch(const BatchView &batch, const AttentionSharing &sharing, Address device,
                   std::span<std::byte> host, size_t groups = 1);

} // namespace ingot::cuda
