//===- KernelBatch.h - Steps for a benchmark, without a scheduler ----------===//
//
// A batch consists of identical sequences, each with KV pages of its own:
//
//   decode    n sequences, one token each, at the last of `context` positions
//   prompt    one sequence, the last n of `context` positions, in tiles of kAttentionTile
//
// Earlier positions look as if earlier steps had written them, because fillPages() writes values to them. Layers with a
// window use their pages as a ring with room for the window and the step.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/device/Executor.h"
#include "tools/ingot/measure/roofline/KernelWork.h"

#include <vector>

namespace ingot::cli {

struct BenchStep {
  int64_t sequences = 1, tokens = 1; ///< tokens: per sequence
  int64_t context = 1;

  int64_t allTokens() const { return sequences * tokens; }
  int64_t rows() const { return sequences; } ///< one for the last token of each
  StepLoad load() const {
    return {static_cast<double>(sequences), static_cast<double>(tokens),
            static_cast<double>(context), static_cast<double>(rows())};
  }
};

/// Returns the number of pages that each sequence of the step has in a group of KV slots.
int64_t pagesOfEach(const runtime::KvPages &group, const BenchStep &step);

class KernelBatch {
public:
  /// `memory` has the executor's pages and limits; ids are below `vocab`.
  KernelBatch(const runtime::MemoryPlan &memory, int64_t vocab) : memory(memory), vocab(vocab) {}

  /// Returns whether there are enough pages for the step's sequences, and the limits allow the step.
  bool fits(const BenchStep &step) const;
  /// Fills a batch for a step that fits. The view is valid until the next call.
  const BatchView &fill(const BenchStep &step);

private:
  const runtime::MemoryPlan &memory;
  int64_t vocab;
  std::vector<int32_t> ids, positions, sequenceOf, rowTokens;
  std::vector<AttentionTile> tiles;
  std::vector<std::vector<int32_t>> tables; ///< page table of each group
  std::vector<const int32_t *> tableOf;
  std::vector<StateSpan> spans;   ///< one per sequence, if the engine has fixed states
  std::vector<StateWrite> writes; ///< each replaces a sequence's snapshot
  BatchView view{};
};

/// Fills every KV page with a copy of one page of values between -2 and 2 in the slots' type. Memory that was never
/// written may be a single shared page, which would be read from a cache.
void fillPages(runtime::Executor &executor);

} // namespace ingot::cli
