//===- StepBatch.cpp - See StepBatch.h ------------------------------------===//
#include "compiler/targets/StepBatch.h"

using namespace ingot;
using namespace ingot::compiler;

/// Returns the slot of the state snapshot after `position` of a sequence.
static int32_t slotOf(int32_t sequence, int64_t position) {
  return sequence + int32_t(position % 2 * StepBatch::kSequences);
}

StepBatch::StepBatch(const reference::Batch &from, const std::vector<int32_t> &ids)
    : positions(from.positions.begin(), from.positions.end()) {
  for (int32_t sequence = 0; sequence < kSequences; ++sequence)
    for (int32_t page = kPages; page-- > 0;)
      table.push_back(page * int32_t(kSequences) + sequence);
  for (size_t t = 0; t < positions.size(); ++t) {
    const bool goesOn = t > 0 && from.sequences[t] == from.sequences[t - 1];
    if (goesOn && tiles.back().tokens < kAttentionTile)
      ++tiles.back().tokens;
    else
      tiles.push_back({int32_t(t), 1, from.sequences[t], positions[t]});
    const StateWrite write{int32_t(t), slotOf(from.sequences[t], positions[t])};
    if (goesOn) {
      ++spans.back().tokens, writes.back() = write;
      continue;
    }
    const int32_t before = positions[t] ? slotOf(from.sequences[t], positions[t] - 1) : -1;
    writes.push_back(write);
    spans.push_back({int32_t(t), 1, before, int32_t(writes.size()) - 1, 1, 0});
  }
  batch.tokens = int64_t(positions.size()), batch.sequences = kSequences;
  batch.rows = int64_t(from.logitsRows.size()), batch.tiles = int64_t(tiles.size());
  batch.ids = ids.data(), batch.positions = positions.data();
  batch.sequenceOf = from.sequences.data(), batch.rowTokens = from.logitsRows.data();
  batch.attentionTiles = tiles.data();
  batch.blockTable = table.data(), batch.blockTableStride = kPages;
  batch.stateSpans = spans.data(), batch.spanCount = int64_t(spans.size());
  batch.stateWrites = writes.data();
}
