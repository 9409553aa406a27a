//===- StepBatch.cpp - See StepBatch.h ------------------------------------===//
#include "compiler/targets/StepBatch.h"

using namespace ingot;
using namespace ingot::compiler;

StepBatch::StepBatch(const reference::Batch &from, const std::vector<int32_t> &ids)
    : positions(from.positions.begin(), from.positions.end()) {
  for (int32_t page = 0; page < kSequences * kPages; ++page)
    table.push_back(page);
  for (size_t t = 0; t < positions.size(); ++t) {
    const bool goesOn = t > 0 && from.sequences[t] == from.sequences[t - 1];
    if (goesOn && tiles.back().tokens < kAttentionTile)
      ++tiles.back().tokens;
    else
      tiles.push_back({int32_t(t), 1, from.sequences[t], positions[t]});
    if (goesOn)
      ++spans.back().tokens, writes.back().token = int32_t(t);
    else { // the version of a sequence is replaced where it lies
      writes.push_back({int32_t(t), from.sequences[t]});
      spans.push_back(
          {int32_t(t), 1, positions[t] ? from.sequences[t] : -1, int32_t(writes.size()) - 1, 1, 0});
    }
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
