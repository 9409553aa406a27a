//===- StepBatch.h - A step of the slow machine as kernels read it --------===//
//
// Pages of a sequence neither follow each other nor rise, so that a kernel which looks at the wrong place of the block
// table reads another sequence. The version of a fixed state behind position p lies in one of two slots of its sequence, as
// p is even or odd: one that is read lies elsewhere than the one that is written, if the step has an odd number of tokens.
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
  /// Points into this and into what it was made from.
  const BatchView &view() const { return batch; }
  /// The step draws, each row in its own way (runtime/sample/SamplingParams.h).
  void draw(const std::vector<RowSampling> &rows) { batch.sampling = rows.data(); }

private:
  std::vector<int32_t> positions, table;
  std::vector<AttentionTile> tiles;
  std::vector<StateSpan> spans;
  std::vector<StateWrite> writes;
  BatchView batch{};
};

} // namespace ingot::compiler
