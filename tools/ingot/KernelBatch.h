//===- KernelBatch.h - Steps for a benchmark, without a scheduler ----------===//
//
// A batch of sequences that are alike, each with KV pages of its own:
//
//   decode    n sequences, one token each, the last of `context` positions
//   prompt    one sequence, its last n of `context` positions, in tiles of kAttentionTile
//
// Positions before are as if earlier steps had written them: fillPages() puts numbers there. Layers
// with a window go round in pages that hold a window and the step.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Batch.h"
#include "runtime/device/Executor.h"
#include "tools/ingot/KernelWork.h"

#include <vector>

namespace ingot::cli {

struct BenchStep {
  int64_t sequences = 1, tokens = 1; ///< of each
  int64_t context = 1;

  int64_t allTokens() const { return sequences * tokens; }
  int64_t rows() const { return sequences; } ///< the last token of each has one
  StepLoad load() const {
    return {static_cast<double>(sequences), static_cast<double>(tokens),
            static_cast<double>(context), static_cast<double>(rows())};
  }
};

/// Pages of a group of KV slots that each sequence of the step has.
int64_t pagesOfEach(const runtime::KvPages &group, const BenchStep &step);

class KernelBatch {
public:
  /// The executor's pages and limits; `vocab` ids.
  KernelBatch(const runtime::MemoryStatement &memory, int64_t vocab)
      : memory(memory), vocab(vocab) {}

  /// Whether its sequences have pages, and limits let it be.
  bool fits(const BenchStep &step) const;
  /// Of a step that fits. Good until the next call.
  const BatchView &fill(const BenchStep &step);

private:
  const runtime::MemoryStatement &memory;
  int64_t vocab;
  std::vector<int32_t> ids, positions, sequenceOf, rowTokens;
  std::vector<AttentionTile> tiles;
  std::vector<std::vector<int32_t>> tables; ///< of each group
  std::vector<const int32_t *> tableOf;
  std::vector<StateSpan> spans;   ///< where the engine has fixed states: each sequence
  std::vector<StateWrite> writes; ///< replaces its version
  BatchView view{};
};

/// Writes every KV page: one of numbers between -2 and 2 in the slots' type, and copies of it.
/// Memory that nobody has written may be one page for all, and be read from a cache.
void fillPages(runtime::Executor &executor);

} // namespace ingot::cli
