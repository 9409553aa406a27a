//===- Sequence.h - One sequence, as the scheduler knows it ----------------===//
#pragma once

#include "runtime/kv/SequenceMemory.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ingot::runtime {

using SequenceId = int64_t;

/// What a sequence asks for.
struct SequenceOptions {
  int64_t maxNew = 0;         ///< it grows by at most so many tokens
  bool everyPosition = false; ///< a logits row for each prompt token instead of the last only
  /// That it and its forks have at once, at most: beams, candidates. It is admitted when so many
  /// are free, and they are kept for it while any of them runs.
  int64_t seats = 1;
  int32_t priority = 0;    ///< lower goes first
  int64_t user = 0;        ///< whose share it counts to (QueueOrder::Fair)
  bool cachePrefix = true; ///< finds pages of others, and leaves its own for others
  uint64_t cacheSalt = 0;  ///< shares pages only under the same salt
  double arrival = 0;      ///< seconds, on the clock of plan()
};

/// A sequence with all that were forked of it, where they have seats together
/// (SequenceOptions::seats).
struct SequenceGroup {
  int64_t seats;
  int64_t running = 0;

  /// Seats that nobody else gets.
  int64_t kept() const { return running > 0 && running < seats ? seats - running : 0; }
};

struct Sequence {
  /// Queued: in the waiting queue. Running: has a seat. Held: has no seat, and no token to feed.
  enum class State : uint8_t { Queued, Running, Held };

  SequenceId id;
  SequenceOptions options;
  int64_t order;               ///< of arrival; forks have their parent's
  std::vector<int32_t> tokens; ///< reserved for all it may become
  int64_t prompt;
  int64_t positions; ///< in the worst case
  Holding held;      ///< what it has of the device's memory
  int64_t inStep = 0;
  std::vector<int32_t> drafts; ///< that may follow the last token: for as long as it is the last
  int64_t uncertain = 0;       ///< of them in the step that has begun, until commit()
  /// Tokens that are computed as a prompt is: all that were there when it was admitted.
  int64_t goal = 0;
  int64_t cachedTokens = 0;
  int64_t rowsGiven = 0;                ///< prompt tokens that have had their row (everyPosition)
  std::shared_ptr<SequenceGroup> group; ///< null: it has one seat of its own
  State state = State::Queued;
  bool admitted = false; ///< before

  /// Tokens whose state is there.
  int64_t computed() const { return held.positions; }
  int64_t pending() const { return int64_t(tokens.size()) - computed(); }
  bool decoding() const { return computed() >= goal; }
  /// Whether prompt tokens still lack their row: until then it is neither preempted nor forked.
  bool wantsRows() const { return options.everyPosition && rowsGiven < prompt; }
};

} // namespace ingot::runtime
