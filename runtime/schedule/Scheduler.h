//===- Scheduler.h - Which tokens make up the next step -------------------===//
//
// Continuous batching with chunked prefill. Each step is one ragged batch under a
// token budget: first one token of every sequence that is decoding (their users
// are watching), then chunks of prompts fill what is left, oldest first.
//
//   budget 12      | A | B | C | D D D D D D D D D |      D: 9 of 40 prompt tokens
//   next step      | A | B | C | D D D D D D D D D |
//
// Admission is first come, first served, by the pages a sequence needs in the
// worst case (KvPool.h): what is running always finishes, so no preemption is
// needed and nothing fails later. The price is that pages promised to an answer
// that ends early were not available to others meanwhile.
//
// The scheduler knows ids and positions, no text and no sampling:
//
//   while (const BatchView *batch = scheduler.plan()) {
//     executor.step(*batch);
//     scheduler.complete();
//     for (auto row : scheduler.rows()) ... append(row.sequence, id) or finish(row.sequence)
//   }
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Batch.h"
#include "runtime/kv/KvPool.h"

#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace ingot::runtime {

using SequenceId = int64_t;

struct ScheduleLimits {
  int64_t maxBatchTokens; ///< at least the pool's rows: all may decode in one step
  int64_t logitsRows;     ///< likewise
  int64_t prefillChunk;   ///< most tokens of one prompt in one step
};

class Scheduler {
public:
  Scheduler(KvPool &pool, const ScheduleLimits &limits);

  /// Positions of KV that a request takes at most: the last new token is never fed.
  static int64_t positionsFor(int64_t prompt, int64_t maxNew) {
    return prompt + (maxNew > 1 ? maxNew - 1 : 0);
  }

  /// Queues a sequence of one prompt token or more that grows by at most `maxNew`.
  /// positionsFor() must fit the context and the pool. `everyPosition`: a logits row for
  /// each prompt token instead of the last only.
  SequenceId add(std::span<const int32_t> prompt, int64_t maxNew, bool everyPosition = false);
  /// Ends a sequence, queued or running; its pages are free at once.
  void finish(SequenceId id);
  /// The new token of a sequence whose prompt is through, to be fed in the next step. A token that
  /// the device alone knows yet is `~row` (Batch.h); the next call says which one it was.
  void append(SequenceId id, int32_t token);

  /// The next batch, or null if no sequence has tokens to feed. Valid until the next plan().
  const BatchView *plan();
  /// Marks the planned tokens as computed. After the step has begun, before append() and finish().
  void complete();

  struct Row {
    SequenceId sequence;
    int64_t position; ///< of the token whose logits the row holds
  };
  /// Owner of each logits row of the batch, in order.
  std::span<const Row> rows() const { return rowOwners; }

  struct Share {
    SequenceId sequence;
    int64_t tokens;
  };
  /// What each sequence has in the batch.
  std::span<const Share> shares() const { return planned; }

  int64_t running() const { return int64_t(active.size()); }
  int64_t queued() const { return int64_t(queue.size()); }

private:
  struct Sequence {
    SequenceId id;
    std::vector<int32_t> tokens; ///< reserved for all it may become
    int64_t prompt;
    int64_t positions; ///< worst case
    int64_t computed = 0;
    int64_t inStep = 0;
    int32_t row = -1;
    bool everyPosition;

    int64_t pending() const { return int64_t(tokens.size()) - computed; }
    bool decoding() const { return computed >= prompt; }
  };

  void admit();
  void take(Sequence &sequence, int64_t tokens);

  KvPool &pool;
  ScheduleLimits limits;
  SequenceId nextId = 0;
  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences;
  std::deque<Sequence *> queue;
  std::vector<Sequence *> active; ///< in order of admission

  BatchView batch{};
  std::vector<int32_t> ids, positions, sequenceOf, rowTokens;
  std::vector<AttentionTile> tiles;
  std::vector<Row> rowOwners;
  std::vector<Share> planned;
};

} // namespace ingot::runtime
