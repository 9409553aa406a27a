//===- StepBatch.h - A plan interpreter step in kernel format -------------===//
//
// Pages of a sequence are neither consecutive nor ascending, so a kernel that reads the wrong entry of the
// block table reads another sequence. Each sequence has two slots for the snapshots of a fixed state. The snapshot
// after position p is in the first or the second, depending on whether p is even or odd. If the step has an odd number
// of tokens, it therefore reads one slot and writes the other.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Arithmetic.h"
#include "runtime/abi/Batch.h"

#include <vector>

namespace ingot::compiler {

class StepBatch {
public:
  static constexpr int64_t kSequences = 3, kPages = 10; ///< kPages is per sequence

  StepBatch(const reference::Batch &batch, const std::vector<int32_t> &ids);
  StepBatch(const StepBatch &) = delete;
  /// References this object and the batch it was made from.
  const BatchView &view() const { return batch; }
  /// Enables sampling in this step. Each row has sampling parameters of its own (runtime/sample/SamplingParams.h).
  void draw(const std::vector<RowSampling> &rows) { batch.sampling = rows.data(); }

private:
  std::vector<int32_t> positions, table;
  std::vector<AttentionTile> tiles;
  std::vector<StateSpan> spans;
  std::vector<StateWrite> writes;
  BatchView batch{};
};

} // namespace ingot::compiler
