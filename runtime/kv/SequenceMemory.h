//===- SequenceMemory.h - Device memory of sequences ----------------------===//
//
// Keys and values are stored in pages (KvPool.h). Pages are shared by sequences with a common prefix, found
// by name after their sequence has ended (PrefixHash.h), and swapped to the host and back when a sequence is
// preempted (SwapSpace.h). The same holds for snapshots of fixed states (StateSnapshots.h); a prefix matches
// as far as there are pages and a snapshot after them.
//
// The scheduler deals only with positions and with sequence slots. A sequence slot is a row of the block
// tables; each sequence that has device memory has one.
//
//   begin() --> [ no slot ] --admit()--> [ slot ] --end()-->
//                   ^                     |  ^  ^
//                   +---- leave() --------+  |  +-- fork(): creates a child with the same contents
//                 (save() may precede it)    |
//                                            +-- extend()   makes room for the tokens of a step,
//                                            |   propose()  and for drafts after them
//                                            +-- commit()   keeps the tokens that are computed and names
//                                                           their full pages; rolls back the other drafts
//
// A SequenceAllocation is the memory of one sequence. It belongs to the owner of the sequence,
// who also passes the tokens to calls that name pages.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kv/KvPool.h"
#include "runtime/kv/StateSnapshots.h"
#include "runtime/kv/SwapSpace.h"

#include <optional>
#include <span>
#include <vector>

namespace ingot::runtime {

/// The memory of one sequence on the device or the host. Modified only by SequenceMemory.
struct SequenceAllocation {
  int32_t slot = -1; ///< row of the block tables; -1: no device memory
  /// Number of computed positions: on the device if there is a slot, else in `saved`.
  int64_t positions = 0;
  int64_t found = 0;           ///< positions that the last admit() found in the prefix cache
  std::vector<PageName> names; ///< the root, then the names of full pages; empty: the sequence
                               ///< shares nothing
  int64_t drafts = 0;          ///< tokens that have room but may be rolled back by commit()
  int64_t named = 0;           ///< number of pages that other sequences can find
  std::span<std::byte> saved;  ///< pages on the host, group by group, then a snapshot; empty: none

  bool shares() const { return !names.empty(); }
};

struct MemoryShape {
  std::vector<KvGroup> groups;
  int64_t slots;
  int64_t context; ///< maximum length of a sequence
  int64_t pageTokens;
  int64_t mostTokens; ///< maximum tokens of one sequence in one step
  FixedState fixed = {};
};

class SequenceMemory {
public:
  /// `mover` and `swapMemory` must outlive this object. Without a mover, a shared page is recomputed instead
  /// of copied, and nothing is saved to the host; fixed states require a mover.
  explicit SequenceMemory(const MemoryShape &shape, PageMover *mover = nullptr,
                          std::span<std::byte> swapMemory = {});
  /// One group without a window.
  SequenceMemory(int64_t pages, int64_t slots, int64_t context, int64_t pageTokens)
      : SequenceMemory({{{pages, 0}}, slots, context, pageTokens, context}) {}
  SequenceMemory(const SequenceMemory &) = delete;
  SequenceMemory &operator=(const SequenceMemory &) = delete;

  /// Returns the pages, for inspection.
  const KvPool &pages() const { return pool; }
  /// Returns the snapshots of fixed states; null if the engine has none.
  const StateSnapshots *snapshots() const { return states ? &*states : nullptr; }
  int64_t slots() const { return pool.slots(); }
  int64_t freeSlots() const { return pool.freeSlots(); }
  /// Returns whether a sequence of that many positions could ever run.
  bool fits(int64_t positions) const { return pool.fits(positions); }

  /// Registers a sequence of at most `positions` positions. It shares prefixes with sequences of the same
  /// salt, or with none if there is no salt.
  void begin(SequenceAllocation &own, int64_t positions, std::optional<uint64_t> salt);
  /// Registers a sequence that has the tokens of another.
  void begin(SequenceAllocation &own, const SequenceAllocation &parent);
  /// Removes a sequence in any state.
  void end(SequenceAllocation &own, std::span<const int32_t> tokens);

  /// If both counts are 0 and `there` is false, no sequence slot is free.
  struct Admission {
    bool there = false;
    int64_t missing = 0; ///< pages lacking in the group that lacks most
    int64_t missingSnapshots = 0;
  };
  /// Gives the sequence a slot with its saved contents or its match in the prefix cache, whichever is longer,
  /// and a promise of pages up to `positions`, if `spare` further pages stay available. All of its tokens
  /// must be known, and at least the last remains to be computed.
  Admission admit(SequenceAllocation &own, std::span<const int32_t> tokens, int64_t positions,
                  int64_t spare);
  /// Gives a child a slot that shares all contents of the parent, without a promise of pages. A slot must be
  /// free.
  void fork(const SequenceAllocation &parent, SequenceAllocation &child);
  /// Releases the slot. Full pages stay in the prefix cache until their room is needed.
  void leave(SequenceAllocation &own, std::span<const int32_t> tokens);

  /// Returns the number of bytes that save() would copy; 0 if there is no room on the host.
  uint64_t bytesToSave(const SequenceAllocation &own) const;
  /// Copies the computed contents to the host, before leave(). Returns false if there is no room.
  bool save(SequenceAllocation &own);

  enum class Room : uint8_t {
    There,
    None,    ///< another sequence must be preempted
    StepBack ///< `positions` was rolled back: some tokens must be recomputed first
  };
  /// Makes room for the next `tokens` of the sequence in pages it does not share. Earlier calls that were not
  /// followed by commit() are forgotten.
  Room extend(SequenceAllocation &own, int64_t tokens);
  /// Makes room for up to `drafts` speculative tokens. Call it after extend(). Returns how many tokens have room. No
  /// sequence is preempted for a draft.
  int64_t propose(SequenceAllocation &own, int64_t drafts);
  /// Records that the next `count` tokens are computed, or will be by a step that has begun. Rolls back later
  /// drafts and frees their room. `tokens`: all tokens of the sequence; the last may not be known yet (Batch.h).
  void commit(SequenceAllocation &own, std::span<const int32_t> tokens, int64_t count);

  /// Returns whether a running sequence of at most `positions` positions may need more pages than it holds or is
  /// promised.
  bool mayWantMore(const SequenceAllocation &own, int64_t positions) const;
  /// Returns whether the refused resources would be available if all of those sequences left.
  bool enoughIn(std::span<const SequenceAllocation *const> those, const Admission &refused) const;
  /// Returns the number of empty positions in the pages of the sequence, in the first group.
  int64_t unusedPositions(const SequenceAllocation &own) const;

  /// Block tables of each group, with one stride: [slots][stride].
  std::span<const int32_t *const> tables() const { return tableOf; }
  int64_t tableStride() const { return pool.blockTableStride(); }

  /// Totals since the start, except the first field, which is the current value.
  struct Counts {
    uint64_t hostBytesUsed = 0;
    uint64_t saves = 0, savedBytes = 0, copiedPages = 0;
  };
  Counts counts() const;

private:
  int64_t sharedPages(SequenceAllocation &own, std::span<const int32_t> tokens);
  void chainNames(SequenceAllocation &own, std::span<const int32_t> tokens, int64_t count) const;
  void nameFullPages(SequenceAllocation &own, std::span<const int32_t> tokens);
  void load(SequenceAllocation &own, int64_t shared);
  void retract(SequenceAllocation &own);

  KvPool pool;
  std::optional<StateSnapshots> states;
  PageMover *mover;
  SwapSpace swap;
  PrefixHasher hasher;
  std::vector<const int32_t *> tableOf;
  Counts done;
};

} // namespace ingot::runtime
