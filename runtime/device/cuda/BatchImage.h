//===- BatchImage.h - A batch as one block of device memory ------------------===//
//
//   +-----------+-----+-----------+------------+-----------+-------+--------+------------+--------+
//   | BatchView | ids | positions | sequenceOf | rowTokens | tiles | splits | [sampling] | block  |
//   | of each   |     |           |            |           |       |        |            | tables |
//   | group     |     |           |            |           |       |        |            |        |
//   +-----------+-----+-----------+------------+-----------+-------+--------+------------+--------+
//   0           256 * groups … each on a 256-byte line
//
// In engines with fixed states, the spans and their writes precede the block tables.
//
// Layers with an attention window form groups with separate pages and block tables
// (engine/Inspect.h). Kernels are unaware of groups: a launch gets the view that points to its
// group's table, at kViewBytes * group. Everything else is the same in all views.
//
// Prompt tiles come first, then decode tiles. packBatch() also computes the splits of the decode
// tiles. One copy per step transfers the image. It is small: the lists are packed according to this
// step's sizes, and the block tables are cut to the pages that the step's sequences have reached.
// The pointers in the views are device addresses. The views never move, so graphs need not change.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/device/cuda/AttentionSplits.h"
#include "runtime/device/cuda/Driver.h"

#include <span>

namespace ingot::cuda {

/// Bytes from one group's view to the next.
constexpr uint64_t kViewBytes = 256;

/// Writes the image of `batch` into `host`, for device memory at `device` (256-byte aligned).
/// Returns the size of the image in bytes; 0 if `host` is too small. With more than one group,
/// batch.groupTables has the block tables.
uint64_t packBatch(const BatchView &batch, const AttentionSplitting &sharing, Address device,
                   std::span<std::byte> host, size_t groups = 1);

} // namespace ingot::cuda
