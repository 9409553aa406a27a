//===- Sequence.h - A sequence in the scheduler ----------------------------===//
#pragma once

#include "runtime/kv/SequenceMemory.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ingot::runtime {

using SequenceId = int64_t;

/// The parameters of a sequence.
struct SequenceOptions {
  int64_t maxNew = 0;         ///< maximum number of tokens by which the sequence grows
  bool everyPosition = false; ///< a logits row for each prompt token instead of only the last
  /// Maximum number of sequence slots that the sequence and its forks (beams, candidates) use at once. It is
  /// admitted when that many are free, and they stay reserved while it or a fork runs.
  int64_t slots = 1;
  int32_t priority = 0;    ///< a lower number goes first
  int64_t user = 0;        ///< the user who is charged for the tokens (QueueOrder::Fair)
  bool cachePrefix = true; ///< uses cached pages of others, and leaves its own in the cache
  uint64_t cacheSalt = 0;  ///< shares pages only under the same salt
  double arrival = 0;      ///< seconds, on the clock of plan()
};

/// A sequence and its forks, if they reserve sequence slots together (SequenceOptions::slots).
struct SequenceGroup {
  int64_t slots;
  int64_t running = 0;

  /// Slots reserved for this group.
  int64_t reserved() const { return running > 0 && running < slots ? slots - running : 0; }
};

struct Sequence {
  /// Queued: the sequence is in the waiting queue. Running: it has a sequence slot. Held: it has neither a slot
  /// nor a token to feed.
  enum class State : uint8_t { Queued, Running, Held };

  SequenceId id;
  SequenceOptions options;
  int64_t order;               ///< number by arrival; forks inherit their parent's
  std::vector<int32_t> tokens; ///< reserved for the maximum length
  int64_t prompt;
  int64_t positions;       ///< number of positions that it needs in the worst case
  SequenceAllocation held; ///< its memory on the device or the host
  int64_t inStep = 0;
  std::vector<int32_t> drafts; ///< speculative tokens after the last token; dropped when it changes
  int64_t uncertain = 0;       ///< number of drafts in the step that has begun, until commit()
  /// Number of tokens that are computed as a prompt: all tokens that the sequence has at admission.
  int64_t goal = 0;
  int64_t cachedTokens = 0;
  int64_t rowsGiven = 0; ///< prompt tokens for which a row was returned (everyPosition)
  std::shared_ptr<SequenceGroup> group; ///< null: it uses a single slot
  State state = State::Queued;
  bool admitted = false; ///< it has been admitted at least once

  /// Returns the number of computed tokens.
  int64_t computed() const { return held.positions; }
  int64_t pending() const { return int64_t(tokens.size()) - computed(); }
  bool decoding() const { return computed() >= goal; }
  /// Returns whether some prompt tokens have no row yet. Meanwhile the sequence is neither preempted nor forked.
  bool wantsRows() const { return options.everyPosition && rowsGiven < prompt; }
};

} // namespace ingot::runtime
