//===- StateVersions.h - Fixed states of sequences: who holds which version -===//
//
// Keys and values of a position are written once. A fixed state (of a recurrence, a convolution)
// is as large for one token as for a thousand, and each token replaces it. What the runtime relies
// on elsewhere would be lost if it were overwritten: a fork needs what its parent had, a token that
// was only proposed may be taken back, a prefix may be found again. So a state is not updated. It
// has versions:
//
//   slot         a place for the fixed states of one sequence, all of them: a number from 0 on
//   version      a slot and the position it stands behind: all tokens before that are in it
//
//   a step of    A: decodes          B: a prompt of 70 tokens      C: 2 drafts behind its last token
//   reads        slot 3 (behind 17)  nothing: zeros                slot 5 (behind 40)
//   writes       slot 3 (behind 18)  slot 6 (behind 64), 7 (70)    slots 2 (41), 8 (42), 9 (43)
//
// A is alone with its version and overwrites it. B leaves one at a border of pages, for whoever
// begins alike: the prefix cache holds it under the name of that border, as it holds pages. Of C's
// one stays, when it is known how many drafts were right, and slot 5 is given back. Versions have
// holders, are kept by name after the last and given out again, all as pages are, so that a
// PagePool counts them.
//
// Arithmetic. A seat is promised one slot until it has a version that is its alone. Drafts and
// snapshots take what is left, and the cache gives way to everybody.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kv/PagePool.h"

#include <span>
#include <vector>

namespace ingot::runtime {

/// What the fixed states of an engine take.
struct FixedState {
  int64_t slots = 0; ///< 0: there are none; else 2 or more: one a seat, and what the cache is given
  /// Every so many pages a version is left to the prefix cache, beside one at the last border of a
  /// prompt.
  int64_t snapshotPages = 8;
};

/// A version that a step writes.
struct VersionWrite {
  int64_t position; ///< behind the token before it
  int32_t slot;
};

class StateVersions {
public:
  StateVersions(const FixedState &shape, int64_t seats, int64_t pageTokens, int64_t mostTokens);

  /// Slots, to be looked at.
  const PagePool &slots() const { return pool; }
  int64_t promised() const { return promises; }
  /// Neither held nor promised.
  int64_t available() const { return pool.available() - promises; }

  /// Whether there is a version behind `pages` pages, by the names of a prefix.
  bool has(std::span<const PageName> names, int64_t pages) const { return find(names, pages) >= 0; }
  /// Slots that are missing to begin there; 0 or less: none.
  int64_t missing(std::span<const PageName> names, int64_t pages) const;
  /// A sequence of `tokens` begins on the seat, behind `pages` pages of the prefix; 0: with zeros.
  /// Nothing may be missing. Without names it leaves nothing to others.
  void admit(int32_t seat, std::span<const PageName> names, int64_t pages, int64_t tokens);
  /// After admit() with zeros: a slot for the version that comes from the host instead.
  int32_t adopt(int32_t seat);
  /// The seat has its parent's version as well, and a promise if there is a slot for it.
  void fork(int32_t parent, int32_t seat);
  void release(int32_t seat);

  /// A slot for the version behind the next `tokens`, and some for snapshots. False, changing
  /// nothing: there is none.
  bool extend(int32_t seat, int64_t position, int64_t tokens);
  /// After extend() by one token: slots for the versions behind further ones, up to `drafts`.
  /// Returns for how many there are some.
  int64_t propose(int32_t seat, int64_t position, int64_t drafts);
  /// What was written behind `position` is the sequence's version, and older or younger ones are
  /// not.
  void commit(int32_t seat, int64_t position);
  /// Leaves versions at borders to the cache, as far as the names are known.
  void name(int32_t seat, std::span<const PageName> names);

  /// The slot of a seat's version, which a step reads. -1: it begins with zeros.
  int32_t from(int32_t seat) const { return seats[size_t(seat)].current; }
  /// What it writes, rising in position.
  std::span<const VersionWrite> writes(int32_t seat) const { return seats[size_t(seat)].writes; }
  /// What release() would make available.
  int64_t releasable(int32_t seat) const;

private:
  struct Seat {
    int32_t current = -1;
    bool promised = false; ///< a slot
    bool planned = false;  ///< it took the slot it was promised for `writes`
    bool cached = false;
    int64_t lastBorder = 0;            ///< of the tokens it was admitted with
    std::vector<VersionWrite> writes;  ///< of the step that is planned; each is held
    std::vector<VersionWrite> borders; ///< versions for the cache without a name yet; held
  };

  int32_t find(std::span<const PageName> names, int64_t pages) const;
  bool wanted(const Seat &own, int64_t position) const;
  bool mayReplace(const Seat &own) const;
  void forgetPlan(Seat &own);
  int32_t take(Seat &own);
  void promise(Seat &own, bool promised);

  PagePool pool; ///< a slot is a "page" of no tokens
  int64_t pageTokens, snapshotTokens;
  int64_t promises = 0;
  std::vector<Seat> seats;
};

} // namespace ingot::runtime
