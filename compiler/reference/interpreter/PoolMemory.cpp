//===- PoolMemory.cpp - See PoolMemory.h ----------------------------------===//
#include "compiler/reference/interpreter/PoolMemory.h"
#include "compiler/reference/Rounding.h"

using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;

void PoolMemory::pretendPast(int64_t sequence, int64_t length, uint64_t seed) {
  pasts[sequence] = {length, seed};
}

KvState &PoolMemory::stateOf(int64_t slot, KvFormat format) {
  auto [state, isNew] = states.try_emplace(slot, rounds ? format : KvFormat::F32);
  if (isNew)
    for (auto [sequence, past] : pasts)
      state->second.pretendPast(sequence, past.length, past.seed);
  return state->second;
}

void PoolMemory::note(Unit &unit, bool writes, int64_t item, int64_t slot, int64_t sequence,
                      int64_t position) {
  const std::string where = "the pool of state " + std::to_string(slot) + ", position " +
                            std::to_string(position) + " of sequence " + std::to_string(sequence);
  if (auto met = timeline.note(unit, writes, item))
    findings.add("E0881",
                 "there is no barrier between " + timeline.nameOf(*met) + " and " +
                     timeline.current(),
                 where);
}

std::vector<Unit> &PoolMemory::unitsOf(int64_t slot, int64_t sequence, int64_t position) {
  std::vector<Unit> &own = units[{slot, sequence}];
  if (own.size() <= size_t(position))
    own.resize(size_t(position) + 1);
  return own;
}

std::vector<float> PoolMemory::snapshot(int64_t slot, int64_t sequence, int64_t position,
                                        size_t size, int64_t item) {
  Unit &unit = unitsOf(slot, sequence, position)[size_t(position)];
  auto past = pasts.find(sequence);
  if (position > 0 && unit.write.launch == 0 &&
      (past == pasts.end() || position > past->second.length)) {
    findings.add("E0882", timeline.current() + " reads uninitialised memory",
                 "the snapshot of state " + std::to_string(slot) + " after position " +
                     std::to_string(position - 1) + " of sequence " + std::to_string(sequence));
    return std::vector<float>(size);
  }
  note(unit, /*writes=*/false, item, slot, sequence, position);
  return stateOf(slot, KvFormat::F32).fixedAt(slot, sequence, position, size);
}

void PoolMemory::leaveSnapshot(int64_t slot, int64_t sequence, int64_t next,
                               std::vector<float> values, int64_t item) {
  note(unitsOf(slot, sequence, next)[size_t(next)], /*writes=*/true, item, slot, sequence, next);
  stateOf(slot, KvFormat::F32).keepFixed(slot, sequence, next, std::move(values));
}

void PoolMemory::append(int64_t slot, kernel::KvPoolType type, int64_t sequence, int64_t position,
                        std::span<const float> k, std::span<const float> v, int64_t item) {
  note(unitsOf(slot, sequence, position)[size_t(position)], /*writes=*/true, item, slot, sequence,
       position);
  stateOf(slot, type.getFormat()).append(slot, sequence, position, k, v, type.getKvHeads());
}

Matrix PoolMemory::attend(int64_t slot, kernel::KvPoolType type, Matrix q, const Batch &batch,
                          AttentionParameters parameters) {
  // With an int8 pool, both matrix products of attention use integers.
  parameters.weightsInBytes = rounds && type.getFormat() == KvFormat::Int8;
  if (parameters.weightsInBytes)
    for (auto width = size_t(type.getHeadDim()), at = size_t(0); at < q.values.size(); at += width)
      roundScaledInt8(std::span(q.values).subspan(at, width), /*ofK=*/true);
  std::map<int32_t, int64_t> lengths;
  auto state = states.find(slot);
  for (int64_t t = 0; t < q.rows; ++t) {
    const int32_t sequence = batch.sequences[size_t(t)];
    const KvState::Rows *rows =
        state == states.end() ? nullptr : state->second.find(slot, sequence);
    const int64_t position = batch.positions[size_t(t)], held = rows ? rows->length : 0;
    lengths[sequence] = held;
    if (held <= position) {
      findings.add("E0882", timeline.current() + " reads uninitialised memory",
                   "the pool of state " + std::to_string(slot) + " holds " + std::to_string(held) +
                       " positions of sequence " + std::to_string(sequence) + ", position " +
                       std::to_string(position) + " is read");
      continue;
    }
    std::vector<Unit> &own = units[{slot, sequence}];
    const int64_t from =
        parameters.window > 0 ? std::max<int64_t>(0, position + 1 - parameters.window) : 0;
    for (int64_t p = from; p <= position && p < int64_t(own.size()); ++p)
      note(own[size_t(p)], /*writes=*/false, t, slot, sequence, p);
  }
  if (state == states.end())
    return Matrix(q.rows, q.columns);
  return attention(q, state->second, slot, lengths, batch, parameters);
}
