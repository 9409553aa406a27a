//===- Scheduler.cpp - Building ragged batches ----------------------------===//
#include "runtime/schedule/Scheduler.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

Scheduler::Scheduler(KvPool &kvPool, const ScheduleLimits &scheduleLimits)
    : pool(kvPool), limits(scheduleLimits) {
  assert(limits.maxBatchTokens >= pool.rows() && limits.logitsRows >= pool.rows());
  assert(limits.prefillChunk >= 1);
  size_t tokens = size_t(limits.maxBatchTokens);
  ids.reserve(tokens);
  positions.reserve(tokens);
  sequenceOf.reserve(tokens);
  rowTokens.reserve(size_t(limits.logitsRows));
  rowOwners.reserve(size_t(limits.logitsRows));
  // Full tiles, and one that is not full per sequence.
  tiles.reserve(std::min(tokens, tokens / size_t(kAttentionTile) + size_t(pool.rows())));
  planned.reserve(size_t(pool.rows()));
  active.reserve(size_t(pool.rows()));
}

SequenceId Scheduler::add(std::span<const int32_t> prompt, int64_t maxNew, bool everyPosition) {
  assert(!prompt.empty() && maxNew >= 0);
  auto sequence = std::make_unique<Sequence>();
  sequence->id = nextId++;
  sequence->tokens.reserve(prompt.size() + size_t(maxNew));
  sequence->tokens.assign(prompt.begin(), prompt.end());
  sequence->prompt = int64_t(prompt.size());
  sequence->positions = positionsFor(sequence->prompt, maxNew);
  sequence->everyPosition = everyPosition;
  assert(pool.pagesFor(sequence->positions) <=
             std::min(pool.totalPages(), pool.blockTableStride()) &&
         "would wait for ever");
  queue.push_back(sequence.get());
  SequenceId id = sequence->id;
  sequences.emplace(id, std::move(sequence));
  return id;
}

void Scheduler::finish(SequenceId id) {
  auto found = sequences.find(id);
  assert(found != sequences.end());
  Sequence *sequence = found->second.get();
  if (sequence->row >= 0) {
    pool.release(sequence->row);
    active.erase(std::find(active.begin(), active.end(), sequence));
  } else {
    queue.erase(std::find(queue.begin(), queue.end(), sequence));
  }
  sequences.erase(found);
}

void Scheduler::append(SequenceId id, int32_t token) {
  Sequence &sequence = *sequences.at(id);
  if (sequence.tokens.back() < 0) {
    assert(token >= 0 && "it is known now");
    sequence.tokens.back() = token;
    return;
  }
  assert(sequence.decoding() && sequence.pending() == 0);
  assert(int64_t(sequence.tokens.size()) < sequence.positions && "longer than it announced");
  sequence.tokens.push_back(token);
}

void Scheduler::admit() {
  while (!queue.empty()) {
    Sequence *first = queue.front();
    first->row = pool.admit(first->positions);
    if (first->row < 0)
      return; // nobody overtakes: a long request would starve
    queue.pop_front();
    active.push_back(first);
  }
}

/// Adds the next `count` tokens of the sequence to the batch.
void Scheduler::take(Sequence &sequence, int64_t count) {
  int64_t first = sequence.computed, firstRow = int64_t(ids.size());
  pool.extend(sequence.row, first + count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = first + i;
    ids.push_back(sequence.tokens[size_t(position)]);
    positions.push_back(int32_t(position));
    sequenceOf.push_back(sequence.row);
    bool last = position + 1 == int64_t(sequence.tokens.size());
    if (sequence.everyPosition || last) {
      rowTokens.push_back(int32_t(firstRow + i));
      rowOwners.push_back({sequence.id, position});
    }
  }
  for (int64_t i = 0; i < count; i += kAttentionTile)
    tiles.push_back({int32_t(firstRow + i), int32_t(std::min(kAttentionTile, count - i)),
                     sequence.row, int32_t(first + i)});
  sequence.inStep = count;
  planned.push_back({sequence.id, count});
}

const BatchView *Scheduler::plan() {
  admit();
  ids.clear();
  positions.clear();
  sequenceOf.clear();
  rowTokens.clear();
  rowOwners.clear();
  tiles.clear();
  planned.clear();

  for (Sequence *sequence : active)
    if (sequence->decoding() && sequence->pending())
      take(*sequence, 1);
  for (Sequence *sequence : active) {
    if (sequence->decoding() || !sequence->pending())
      continue;
    int64_t count = std::min(
        {sequence->pending(), limits.prefillChunk, limits.maxBatchTokens - int64_t(ids.size())});
    int64_t rowsLeft = limits.logitsRows - int64_t(rowTokens.size());
    if (sequence->everyPosition)
      count = std::min(count, rowsLeft);
    else if (rowsLeft == 0) // everything but the token that needs a row
      count = std::min(count, sequence->pending() - 1);
    if (count > 0)
      take(*sequence, count);
  }
  if (ids.empty())
    return nullptr;

  batch.tokens = int64_t(ids.size());
  batch.sequences = pool.rows();
  batch.rows = int64_t(rowTokens.size());
  batch.tiles = int64_t(tiles.size());
  batch.ids = ids.data();
  batch.positions = positions.data();
  batch.sequenceOf = sequenceOf.data();
  batch.rowTokens = rowTokens.data();
  batch.attentionTiles = tiles.data();
  batch.blockTable = pool.blockTable();
  batch.blockTableStride = pool.blockTableStride();
  return &batch;
}

void Scheduler::complete() {
  for (const Share &share : planned) {
    Sequence &sequence = *sequences.at(share.sequence);
    sequence.computed += sequence.inStep;
    sequence.inStep = 0;
  }
}

} // namespace ingot::runtime
