//===- PoolMemory.h - States of sequences in the plan interpreter -----------===//
//
// This class implements the states of the plan interpreter. The pool of a state is a KvState. Its values are rounded to
// the pool's format when they are written. Accesses to positions are recorded like accesses to bytes of an arena
// (Memory.h). It is an error if two accesses conflict and may run concurrently, because there is no barrier between
// their launches. It is also an error to read a position that was never written.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Arithmetic.h"
#include "compiler/reference/interpreter/Memory.h"

namespace ingot::reference::interpreter {

class PoolMemory {
public:
  /// Without `rounds`, pools keep f32 whatever their format.
  PoolMemory(bool rounds, Timeline &timeline, Findings &findings)
      : rounds(rounds), timeline(timeline), findings(findings) {}

  /// Does the same as KvState::pretendPast, for all pools.
  void pretendPast(int64_t sequence, int64_t length, uint64_t seed);

  /// Writes one position of state number `slot`; `item` is the launch's work item.
  void append(int64_t slot, kernel::KvPoolType type, int64_t sequence, int64_t position,
              std::span<const float> k, std::span<const float> v, int64_t item);
  /// Computes attention. If the pool is int8, queries are rounded like K, and the weights of positions are rounded to
  /// bytes (codegen/cpu/AttentionInt8.h).
  Matrix attend(int64_t slot, kernel::KvPoolType type, Matrix q, const Batch &batch,
                AttentionParameters parameters);

  /// snapshot() returns the fixed state of a sequence after the tokens before `position`; leaveSnapshot()
  /// replaces it by the snapshot after the tokens before `next`.
  std::vector<float> snapshot(int64_t slot, int64_t sequence, int64_t position, size_t size,
                              int64_t item);
  void leaveSnapshot(int64_t slot, int64_t sequence, int64_t next, std::vector<float> values,
                     int64_t item);

private:
  std::vector<Unit> &unitsOf(int64_t slot, int64_t sequence, int64_t position);
  KvState &stateOf(int64_t slot, KvFormat format);
  void note(Unit &unit, bool writes, int64_t item, int64_t slot, int64_t sequence,
            int64_t position);

  struct Past {
    int64_t length;
    uint64_t seed;
  };
  bool rounds;
  Timeline &timeline;
  Findings &findings;
  std::map<int64_t, KvState> states; ///< by slot
  std::map<int64_t, Past> pasts;     ///< by sequence
  std::map<std::pair<int64_t, int64_t>, std::vector<Unit>>
      units; ///< by slot and sequence: one for each position, or for each snapshot
};

} // namespace ingot::reference::interpreter
