//===- StepBatch.h - A plan interpreter step in kernel format -------------===//
//
// Pages of a sequence are neither consecutive nor ascending, so a kernel that reads the wrong entry of the
// block table reads another sequence. The snapshot of a fixed state after position p is in one of two slots
// of its sequence, depending on whether p is even or odd: the slot that is read differs from the slot that is
// written if the step has an odd number of tokens.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Arithmetic.h"
#include "runtime/abi/Batch.h"

#include <vector>

namespace ingot::compiler {

class StepBatch {
public:
  static constexpr int64_t kSequences = 3, kPages = 10; ///< of each sequence

  StepBatch(const reference::Batch &batch, const std::vector<int32_t> &ids);
  StepBatch(const StepBatch &) = delete;
  /// References this object and the batch it was made from.
  const BatchView &view() const { return batch; }
  /// Makes the step draw, with separate sampling parameters for each row (runtime/sample/SamplingParams.h).
  void draw(const std::vector<RowSampling> &rows) { batch.sampling = rows.data(); }

private:
  std::vector<int32_t> positions, table;
  std::vector<AttentionTile> tiles;
  std::vector<StateSpan> spans;
  std::vector<StateWrite> writes;
  BatchView batch{};
};

} // namespace ingot::compiler
