//===- BatchImage.h - A batch as one piece of device memory ------------------===//
//
//   +-----------+-----+-----------+------------+-----------+-------+--------+------------+-------+
//   | BatchView | ids | positions | sequenceOf | rowTokens | tiles | shares | [sampling] | block |
//   |           |     |           |            |           |       |        |            | table |
//   +-----------+-----+-----------+------------+-----------+-------+--------+------------+-------+
//   0           256 … each on a 256-byte line
//
// Of engines with fixed states the spans and their writes stand before the block table.
//
// Tiles of prompts come first, tiles that decode behind them, and the runs of those are dealt here.
// One copy per step takes it over. Lists lie where this step's sizes put them, and the block
// table is cut to the pages that the step's sequences have reached, so little is copied; its
// pointers are addresses on the device, whose first byte never moves, so graphs need not change.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Batch.h"
#include "runtime/device/cuda/AttentionShares.h"
#include "runtime/device/cuda/Driver.h"

#include <span>

namespace ingot::cuda {

/// Writes the image of `batch` for device memory at `device`, a 256-byte line, into `host`. The
/// bytes of the image; 0 if `host` is too small.
uint64_t packBatch(const BatchView &batch, const AttentionSharing &sharing, Address device,
                   std::span<std::byte> host);

} // namespace ingot::cuda
