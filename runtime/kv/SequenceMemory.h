//===- SequenceMemory.h - All that sequences keep on the device -----------===//
//
// Keys and values lie in pages (KvPool.h), which sequences that begin alike share, which are found
// again by name after their sequence has gone (PrefixHash.h), and which go to the host and back
// when a sequence has to make way (SwapSpace.h). Of versions of fixed states (StateVersions.h) the
// same is true, and a prefix is found as far as there are pages and a version behind them.
//
// The scheduler knows none of that. It knows positions, and seats: rows of the block tables, one
// for each sequence that has anything there.
//
//   begin() --> [ no seat ] --admit()--> [ seat ] --end()-->
//                   ^                     |  ^  ^
//                   +---- leave() --------+  |  +-- fork(): a child beside it, with the same
//                 save() before it, or not   |
//                                            +-- extend()   room for the tokens of a step,
//                                            |   propose()  and for drafts behind them
//                                            +-- commit()   so many of them are there: named; what
//                                                           is behind them is taken back
//
// A Holding says what one sequence has here. Whoever owns the sequence owns it, and tells the
// tokens where pages get their names by them.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kv/KvPool.h"
#include "runtime/kv/StateVersions.h"
#include "runtime/kv/SwapSpace.h"

#include <optional>
#include <span>
#include <vector>

namespace ingot::runtime {

/// What one sequence has, on the device or the host. Changed by SequenceMemory alone.
struct Holding {
  int32_t seat = -1; ///< row of the block tables; -1: it has nothing on the device
  /// Of the sequence that are computed: on the device with a seat, in `saved` without one.
  int64_t positions = 0;
  int64_t found = 0;           ///< positions that the last admit() found in the prefix cache
  std::vector<PageName> names; ///< the root, then of full pages; empty: it shares with nobody
  int64_t drafts = 0;          ///< tokens that there is room for, and that commit() may take back
  int64_t named = 0;           ///< pages that others find
  std::span<std::byte> saved;  ///< pages on the host, group by group, then a version; empty: none

  bool shares() const { return !names.empty(); }
};

struct MemoryShape {
  std::vector<KvGroup> groups;
  int64_t seats;
  int64_t context; ///< most positions of a sequence
  int64_t pageTokens;
  int64_t mostTokens; ///< of one sequence in one step
  FixedState fixed = {};
};

class SequenceMemory {
public:
  /// `mover` and `swapMemory` outlive it. Without a mover, a page that is shared is computed again
  /// instead of copied, and nothing is saved to the host; there must be one for fixed states.
  explicit SequenceMemory(const MemoryShape &shape, PageMover *mover = nullptr,
                          std::span<std::byte> swapMemory = {});
  /// One group without a window.
  SequenceMemory(int64_t pages, int64_t seats, int64_t context, int64_t pageTokens)
      : SequenceMemory({{{pages, 0}}, seats, context, pageTokens, context}) {}
  SequenceMemory(const SequenceMemory &) = delete;
  SequenceMemory &operator=(const SequenceMemory &) = delete;

  /// The pages, to be looked at.
  const KvPool &pages() const { return pool; }
  /// The versions of fixed states; null: the engine has none.
  const StateVersions *versions() const { return states ? &*states : nullptr; }
  int64_t seats() const { return pool.seats(); }
  int64_t freeSeats() const { return pool.freeSeats(); }
  /// Whether a sequence of so many positions could ever run.
  bool fits(int64_t positions) const { return pool.fits(positions); }

  /// A sequence of at most so many positions comes. It shares what it begins with, with those of
  /// the same salt; with nobody if there is none.
  void begin(Holding &own, int64_t positions, std::optional<uint64_t> salt);
  /// A sequence comes that has the tokens of another.
  void begin(Holding &own, const Holding &parent);
  /// It goes for good, in any state.
  void end(Holding &own, std::span<const int32_t> tokens);

  /// If both are 0 and it is not there, a seat is missing.
  struct Admission {
    bool there = false;
    int64_t missing = 0; ///< pages, of the group that lacks most
    int64_t missingVersions = 0;
  };
  /// A seat for the sequence, with what was saved of it or is found in the prefix cache, whichever
  /// is more, and the promise of pages up to `positions`, beside which `spare` stay available. Its
  /// tokens are all known, and at least the last is left to be computed.
  Admission admit(Holding &own, std::span<const int32_t> tokens, int64_t positions, int64_t spare);
  /// A seat for a child, with all that the parent has and no promise of pages. There must be a seat.
  void fork(const Holding &parent, Holding &child);
  /// Gives the seat up. What is full stays in the prefix cache as long as nobody needs the room.
  void leave(Holding &own, std::span<const int32_t> tokens);

  /// What save() would copy; 0: there is no room for it on the host.
  uint64_t bytesToSave(const Holding &own) const;
  /// Copies what is computed to the host, before leave(). False: there is no room.
  bool save(Holding &own);

  enum class Room : uint8_t {
    There,
    None,    ///< somebody has to make way
    StepBack ///< `positions` went back: some tokens are to be computed again first
  };
  /// Room for the next `tokens` of the sequence, which nobody else looks at. Calls that were not
  /// followed by commit() are forgotten.
  Room extend(Holding &own, int64_t tokens);
  /// Behind extend(): room for further tokens that may not be the sequence's, `drafts` at most.
  /// Returns for how many there is some: nobody makes way for a draft.
  int64_t propose(Holding &own, int64_t drafts);
  /// The next `count` tokens are computed (or will be by a step that has begun); drafts behind them
  /// are taken back, with the room that was for them. `tokens`: of the sequence; the last may not
  /// be known yet (Batch.h).
  void commit(Holding &own, std::span<const int32_t> tokens, int64_t count);

  /// Whether a running sequence of at most so many positions may want more than it is sure of.
  bool mayWantMore(const Holding &own, int64_t positions) const;
  /// Whether what was refused would be there if all of those left.
  bool enoughIn(std::span<const Holding *const> those, const Admission &refused) const;
  /// Positions of its pages (of the first group) that hold nothing.
  int64_t unusedPositions(const Holding &own) const;

  /// Block tables of each group, with one stride: [seats][stride].
  std::span<const int32_t *const> tables() const { return tableOf; }
  int64_t tableStride() const { return pool.blockTableStride(); }

  /// Since the start; but for the first, which is now.
  struct Counts {
    uint64_t hostBytesUsed = 0;
    uint64_t saves = 0, savedBytes = 0, copiedPages = 0;
  };
  Counts counts() const;

private:
  int64_t sharedPages(Holding &own, std::span<const int32_t> tokens);
  void chainNames(Holding &own, std::span<const int32_t> tokens, int64_t count) const;
  void nameFullPages(Holding &own, std::span<const int32_t> tokens);
  void load(Holding &own, int64_t shared);
  void retract(Holding &own);

  KvPool pool;
  std::optional<StateVersions> states;
  PageMover *mover;
  SwapSpace swap;
  PrefixHasher hasher;
  std::vector<const int32_t *> tableOf;
  Counts done;
};

} // namespace ingot::runtime
