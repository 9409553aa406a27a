//===- StateSnapshots.h - Snapshots of sequences' fixed states ------------===//
//
// Keys and values of a position are written once. A fixed state (of a recurrence, a convolution) has the same
// size for one token as for a thousand, and each token replaces it. Overwriting it would make three things
// impossible: a fork needs its parent's state, a speculative token may be rolled back, and a prefix may be
// found again. A state is therefore not updated in place. It has snapshots:
//
//   slot         memory for one snapshot of all fixed states; slots are numbered from 0
//   snapshot     a slot and a position: the states after all tokens before that position
//
//   a step of    A: decodes          B: a prompt of 70 tokens      C: 2 drafts after its last token
//   reads        slot 3 (at 17)      nothing: zeros                slot 5 (at 40)
//   writes       slot 3 (at 18)      slot 6 (at 64), 7 (70)        slots 2 (41), 8 (42), 9 (43)
//
// A is the only holder of its snapshot and overwrites it. B leaves one at a page boundary for sequences with
// the same prefix: the prefix cache holds it under the name of that boundary, as it holds pages. Once the
// number of correct drafts is known, one of C's snapshots stays, and slot 5 is freed. Like pages, snapshots
// have holders, are cached by name after the last holder is gone, and are reused, so a PagePool manages them.
//
// Promises. A sequence is promised one slot until it is the only holder of a snapshot. Drafts and the
// cache's snapshots use the remaining slots, and the cache yields to every other use.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kv/PagePool.h"

#include <span>
#include <vector>

namespace ingot::runtime {

/// Sizes of the fixed states of an engine.
struct FixedState {
  int64_t slots =
      0; ///< 0: there are none; else at least 2: one per sequence slot, plus slots of the cache
  /// Every this many pages a snapshot is left to the prefix cache, in addition to one at the last page
  /// boundary of a prompt.
  int64_t snapshotPages = 8;
};

/// A snapshot that a step writes.
struct SnapshotWrite {
  int64_t position; ///< the snapshot includes all tokens before this position
  int32_t slot;
};

class StateSnapshots {
public:
  StateSnapshots(const FixedState &shape, int64_t sequences, int64_t pageTokens,
                 int64_t mostTokens);

  /// Returns the slots, for inspection.
  const PagePool &slots() const { return pool; }
  int64_t promised() const { return promises; }
  /// Neither held nor promised.
  int64_t available() const { return pool.available() - promises; }

  /// Returns whether there is a snapshot after `pages` pages, by the names of a prefix.
  bool has(std::span<const PageName> names, int64_t pages) const { return find(names, pages) >= 0; }
  /// Returns the number of slots that are lacking for a sequence to begin after `pages` pages; 0 or less: none.
  int64_t missing(std::span<const PageName> names, int64_t pages) const;
  /// Begins `sequence`, which is admitted with `tokens` tokens. It starts from the snapshot after the first
  /// `pages` pages of its prefix, or from zeros if `pages` is 0. Requires missing(names, pages) <= 0. Without
  /// names, the sequence leaves no snapshots to the cache.
  void admit(int32_t sequence, std::span<const PageName> names, int64_t pages, int64_t tokens);
  /// After admit() with zeros: returns a slot for a snapshot that is loaded from the host instead.
  int32_t adopt(int32_t sequence);
  /// Lets `sequence` share its parent's snapshot, and promises it a slot if one is available.
  void fork(int32_t parent, int32_t sequence);
  void release(int32_t sequence);

  /// Reserves a slot for the snapshot after the next `tokens` tokens, and further slots for snapshots of the
  /// cache, if there are any. Returns false, without a slot for the step, if there is none.
  bool extend(int32_t sequence, int64_t position, int64_t tokens);
  /// After extend() by one token: reserves slots for the snapshots after up to `drafts` further tokens.
  /// Returns the number of drafts that have slots.
  int64_t propose(int32_t sequence, int64_t position, int64_t drafts);
  /// Makes the snapshot written at `position` the current one of the sequence, and drops older and younger
  /// ones.
  void commit(int32_t sequence, int64_t position);
  /// Leaves snapshots at page boundaries to the cache, as far as the names are known.
  void name(int32_t sequence, std::span<const PageName> names);

  /// Returns the slot of the snapshot that a step reads; -1: the step begins with zeros.
  int32_t from(int32_t sequence) const { return sequences[size_t(sequence)].current; }
  /// Returns the snapshots that the step writes, ascending in position.
  std::span<const SnapshotWrite> writes(int32_t sequence) const {
    return sequences[size_t(sequence)].writes;
  }
  /// Returns the number of slots that release() would make available.
  int64_t releasable(int32_t sequence) const;

private:
  struct SequenceState {
    int32_t current = -1;
    bool promised = false; ///< whether it is promised a slot
    bool planned = false;  ///< whether `writes` uses the promised slot
    bool cached = false;
    int64_t lastBorder = 0;             ///< the last page boundary in the tokens it was admitted
                                        ///< with
    std::vector<SnapshotWrite> writes;  ///< of the planned step; each slot is held
    std::vector<SnapshotWrite> borders; ///< held snapshots for the cache that have no name yet
  };

  int32_t find(std::span<const PageName> names, int64_t pages) const;
  bool wanted(const SequenceState &own, int64_t position) const;
  bool mayReplace(const SequenceState &own) const;
  void forgetPlan(SequenceState &own);
  int32_t take(SequenceState &own);
  void promise(SequenceState &own, bool promised);

  PagePool pool; ///< a slot is a "page" without tokens
  int64_t pageTokens, snapshotTokens;
  int64_t promises = 0;
  std::vector<SequenceState> sequences;
};

} // namespace ingot::runtime
