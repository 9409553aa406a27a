//===- Scheduler.h - Chooses the tokens of the next step -------------------===//
//
// Continuous batching with chunked prefill. Each step is one ragged batch within a token budget. It begins with
// one token of every decoding sequence, because their users are watching. Chunks of prompts follow, with as many
// tokens as ChunkBudget.h allows: half of them for the first prompt, the rest for the shortest ones.
//
//   budget 12      | A | B | C | D D D D D D D D D |      D: 9 of 40 prompt tokens
//   next step      | A | B | C | D D D D D D D D D |
//
// The life of a sequence:
//
//   add() --> Queued --admit()--> Running --finish()-->
//               ^                   |  ^
//               |     no room left: |  | fork(): a child with the same content
//               +--- preempt() -----+  |
//                    contents to the host, or recomputed later
//
// Admission counts the pages that are needed now: pages for the sequence's tokens and one more, minus pages
// found in the prefix cache, plus one page for each running sequence that may need another. If the worst cases of
// all sequences fit, none waits for pages. No sequence overtakes the first of the queue (WaitingQueue.h).
//
// When pages run out later, the running sequence that is last in queue order is preempted. Its pages are
// saved to the host if that is cheaper than recomputation and there is room. Otherwise they are freed, and the
// full ones go to the prefix cache, where the sequence may find them again. A sequence may also be preempted for
// one of higher priority. The first of the running sequences is never preempted, and every step with prompt tokens
// computes at least one token of it. Therefore there is always progress, whatever the requests.
//
// A beam search takes its sequence slots together (SequenceOptions::slots), so that no two searches wait for
// each other's slots. One of its sequences may have no token to feed until the others have their rows. If no
// other sequence can continue, such a sequence is preempted, whatever its place in the order.
//
// SequenceMemory manages where the memory of sequences is on the device, and how they share it. No decision
// made here changes an answer, because keys and values depend only on the tokens.
//
// The scheduler handles tokens and positions, but neither text nor sampling:
//
//   while (const BatchView *batch = scheduler.plan(now)) {
//     executor.step(*batch);
//     scheduler.complete();
//     for (auto row : scheduler.rows()) ... append(row.sequence, id) or finish(row.sequence)
//     scheduler.observe(work, seconds);
//   }
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/kv/SequenceMemory.h"
#include "runtime/schedule/ChunkBudget.h"
#include "runtime/schedule/ScheduleStats.h"
#include "runtime/schedule/Sequence.h"
#include "runtime/schedule/StepCost.h"
#include "runtime/schedule/WaitingQueue.h"

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace ingot::runtime {

struct ScheduleLimits {
  // Both are at least the number of sequence slots, because all slots may decode in one step.
  int64_t maxBatchTokens;
  int64_t logitsRows;
  int64_t prefillChunk; ///< maximum tokens of one prompt in one step
};

struct SchedulePolicy {
  QueueOrder order = QueueOrder::Priority;
  ChunkOptions chunks;
  bool prefixCache = true;
  int64_t sparePages = 1; ///< at admission, pages left for each running sequence that may need more
  double swapBytesPerSecond = 4e9;
};

class Scheduler {
public:
  /// `memory` must outlive the scheduler. A cost table without points means that costs are unknown.
  Scheduler(SequenceMemory &memory, const ScheduleLimits &limits, const SchedulePolicy &policy = {},
            const StepCostTable &cost = {});

  /// Returns the maximum number of KV positions that a request uses. The last new token is never fed.
  static int64_t positionsFor(int64_t prompt, int64_t maxNew) {
    return prompt + (maxNew > 1 ? maxNew - 1 : 0);
  }

  /// Reserves an id for a sequence that fork() creates later.
  SequenceId reserveId() { return nextId++; }
  /// Queues a sequence of one or more prompt tokens. positionsFor() must fit the memory
  /// (SequenceMemory::fits).
  SequenceId add(std::span<const int32_t> prompt, const SequenceOptions &options);
  SequenceId add(std::span<const int32_t> prompt, int64_t maxNew, bool everyPosition = false) {
    SequenceOptions options;
    options.maxNew = maxNew;
    options.everyPosition = everyPosition;
    return add(prompt, options);
  }
  /// Creates a sequence with the same tokens and limits that continues independently. It shares all pages with
  /// the parent, and a partial page is copied when one of them writes to it. If no sequence slot is free, the
  /// child waits, and later reuses the pages that it finds in the prefix cache. The parent's last token must be
  /// known to the host.
  void fork(SequenceId parent, SequenceId child);
  SequenceId fork(SequenceId parent) {
    SequenceId child = reserveId();
    fork(parent, child);
    return child;
  }
  /// Ends a sequence in any state. Its memory is freed or cached immediately.
  void finish(SequenceId id);
  /// Appends the new token of a sequence after its last row was returned. The next step feeds the token. If the token's
  /// value is only on the device so far, pass `~row` (Batch.h). The next call supplies the value.
  void append(SequenceId id, int32_t token);

  /// Sets draft tokens for a decoding sequence. Its next step includes as many of them after its last token
  /// as fit, with a row for each, and must be followed by commit(). Drafts are dropped with the next token.
  void propose(SequenceId id, std::span<const int32_t> drafts);
  /// Accepts the first `accepted` drafts of a sequence and rolls back the others. Call it after complete() for
  /// each sequence that had drafts in the step. Call append() or finish() next, as after any step.
  void commit(SequenceId id, int64_t accepted);

  /// Returns the next batch, or null if no sequence has tokens to feed. The batch is valid until the next plan().
  /// `now`: seconds on any monotonic clock.
  const BatchView *plan(double now = 0);
  /// Marks the planned tokens as computed, except tokens of sequences with drafts. Call it after the step has begun,
  /// before append() and finish().
  void complete();
  /// Records the duration of a step. `work`: the value of work() when the step was planned.
  void observe(const StepWork &work, double seconds) { cost.observe(work, seconds); }
  const StepWork &work() const { return planWork; }
  const StepCost &stepCost() const { return cost; }

  struct Row {
    SequenceId sequence;
    int64_t position; ///< position of the token that produced the row's logits
  };
  /// Returns the owner of each logits row of the batch, in order.
  std::span<const Row> rows() const { return rowOwners; }

  struct Share {
    SequenceId sequence;
    int64_t tokens;
  };
  /// Returns the number of tokens of each sequence in the batch, including drafts.
  std::span<const Share> shares() const { return planned; }

  /// Returns the number of prompt tokens of the sequence that the prefix cache had.
  int64_t cachedTokens(SequenceId id) const { return sequences.at(id)->cachedTokens; }
  /// Returns the number of computed tokens of the sequence, without the tokens of the planned step.
  int64_t computedTokens(SequenceId id) const { return sequences.at(id)->computed(); }
  int64_t running() const { return int64_t(active.size()); }
  int64_t queued() const { return queue.size(); }
  ScheduleStats stats() const;

private:
  // Scheduler.cpp: steps.
  void take(Sequence &sequence, int64_t tokens);
  void takeStates(const Sequence &sequence, int64_t firstToken, int64_t tokens);
  void takeDecodes();
  int64_t draftsFor(Sequence &sequence, int64_t most);
  void takePrompts(double now);
  void settle(Sequence &sequence, int64_t count);
  int64_t orderPrompts(const Sequence &first, int64_t budget);
  bool readyToWrite(Sequence &sequence, int64_t tokens);
  // Lifetime.cpp: start, fork and end of sequences.
  Sequence &create(SequenceId id, const SequenceOptions &options);
  void startRunning(Sequence &sequence);
  void stopRunning(Sequence &sequence);
  void countRunning(const Sequence &sequence, int change);
  // Admission.cpp: sequence slots and memory.
  void admit();
  SequenceMemory::Admission tryAdmit(Sequence &sequence);
  bool displaceFor(const Sequence &sequence, const SequenceMemory::Admission &refused);
  bool makeRoom(Sequence &sequence);
  bool preemptIdle();
  int64_t slotsLacking(const Sequence &sequence) const;
  void preempt(Sequence &sequence);
  bool saveToHost(Sequence &sequence);

  SequenceMemory &memory;
  ScheduleLimits limits;
  SchedulePolicy policy;
  StepCost cost;
  SequenceId nextId = 0;
  int64_t nextOrder = 0;
  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences;
  WaitingQueue queue;
  std::vector<Sequence *> active; ///< running sequences in queue order; the last is preempted first
  int64_t reservedSlots = 0;      ///< reserved for further sequences of running groups
  ScheduleStats counts;
  std::vector<const SequenceAllocation *> victims; ///< scratch list for one request

  BatchView batch{};
  StepWork planWork;
  std::vector<int32_t> ids, positions, sequenceOf, rowTokens;
  std::vector<AttentionTile> tiles;
  std::vector<Row> rowOwners;
  std::vector<Share> planned;
  std::vector<StateSpan> spans;
  std::vector<StateWrite> snapshotWrites;
  std::vector<Sequence *> prompts; ///< sequences in the order in which they get prompt tokens
};

} // namespace ingot::runtime
