//===- Scheduler.h - Which tokens make up the next step --------------------===//
//
// Continuous batching with chunked prefill. Each step is one ragged batch under a
// token budget: first one token of every sequence that decodes (their users
// are watching), then chunks of prompts, as many tokens as ChunkBudget.h leaves them, half of them
// for the first, the rest for the shortest.
//
//   budget 12      | A | B | C | D D D D D D D D D |      D: 9 of 40 prompt tokens
//   next step      | A | B | C | D D D D D D D D D |
//
// What becomes of a sequence:
//
//   add() --> Queued --admit()--> Running --finish()-->
//               ^                   |  ^
//               |     no room left: |  | fork(): a child with the same content
//               +--- preempt() -----+  |
//                    content to the host, or to be computed again
//
// Admission is by exact arithmetic, of what is needed now: pages for the tokens that are there and
// one more, less those that are found in the prefix cache, beside one page for each running
// sequence that may want another. Where all fit in the worst case, nobody waits for pages. Nobody
// overtakes the first of the queue (WaitingQueue.h).
//
// When pages run out later, the running sequence that comes last in the queue's order is preempted.
// Its pages are saved to the host if that is cheaper than computing them again and there is room;
// otherwise they are given up, full ones to the prefix cache, where it may find them again. A
// sequence may also be preempted for one of a better priority. Whoever comes first among those that
// run is never preempted, and has computed at least one token in every step that has prompts to
// spare for it: so there is always progress, whatever is asked for.
//
// A beam search takes its seats together (SequenceOptions::seats), so that no two of them wait for
// each other's. One of its sequences may have no token to feed until the others have theirs; when
// nobody else can go on, such a one gives way, wherever it stands.
//
// What sequences have on the device, where it lies and who shares it is SequenceMemory's. No choice
// made here changes an answer: keys and values depend on the tokens alone.
//
// The scheduler knows ids and positions, no text and no sampling:
//
//   while (const BatchView *batch = scheduler.plan(now)) {
//     executor.step(*batch);
//     scheduler.complete();
//     for (auto row : scheduler.rows()) ... append(row.sequence, id) or finish(row.sequence)
//     scheduler.observe(seconds);
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
  int64_t maxBatchTokens; ///< at least the seats: all may decode in one step
  int64_t logitsRows;     ///< likewise
  int64_t prefillChunk;   ///< most tokens of one prompt in one step
};

struct SchedulePolicy {
  QueueOrder order = QueueOrder::Priority;
  ChunkOptions chunks;
  bool prefixCache = true;
  int64_t sparePages = 1; ///< left at admission for each running sequence that may want more
  double swapBytesPerSecond = 4e9;
};

class Scheduler {
public:
  /// `memory` outlives it. Costs without points: not known.
  Scheduler(SequenceMemory &memory, const ScheduleLimits &limits, const SchedulePolicy &policy = {},
            const StepCostTable &cost = {});

  /// Positions of KV that a request takes at most: the last new token is never fed.
  static int64_t positionsFor(int64_t prompt, int64_t maxNew) {
    return prompt + (maxNew > 1 ? maxNew - 1 : 0);
  }

  /// A number for a sequence that comes later (fork).
  SequenceId reserveId() { return nextId++; }
  /// Queues a sequence of one prompt token or more. positionsFor() must fit the memory
  /// (SequenceMemory::fits).
  SequenceId add(std::span<const int32_t> prompt, const SequenceOptions &options);
  SequenceId add(std::span<const int32_t> prompt, int64_t maxNew, bool everyPosition = false) {
    SequenceOptions options;
    options.maxNew = maxNew;
    options.everyPosition = everyPosition;
    return add(prompt, options);
  }
  /// A sequence with the same tokens and limits, that goes on by itself. It shares all with
  /// the parent; a page that is not full is copied when one of them writes to it. Without a seat for
  /// it, it waits, and finds what it can in the prefix cache. The parent's last token must be
  /// known.
  void fork(SequenceId parent, SequenceId child);
  SequenceId fork(SequenceId parent) {
    SequenceId child = reserveId();
    fork(parent, child);
    return child;
  }
  /// Ends a sequence in any state; its memory is free, or kept, at once.
  void finish(SequenceId id);
  /// The new token of a sequence whose last row was given out, to be fed in the next step. A token
  /// that the device alone knows yet is `~row` (Batch.h); the next call says which one it was.
  void append(SequenceId id, int32_t token);

  /// Tokens that may follow the last of a sequence that decodes. The next step it is in has as many
  /// of them behind its last token as there is room for, with a row for each, and is followed by
  /// commit(). They are forgotten with the next token.
  void propose(SequenceId id, std::span<const int32_t> drafts);
  /// After complete(), of a sequence that had drafts in the step: the first `accepted` are its
  /// tokens, the others are taken back. append() or finish() is next, as after any step.
  void commit(SequenceId id, int64_t accepted);

  /// The next batch, or null if no sequence has tokens to feed. Valid until the next plan(). `now`:
  /// seconds on any clock that does not go back.
  const BatchView *plan(double now = 0);
  /// Marks the planned tokens as computed, but for those of sequences with drafts. After the step has begun, before append() and finish().
  void complete();
  /// How long a step took that had this work (work() when it was planned).
  void observe(const StepWork &work, double seconds) { cost.observe(work, seconds); }
  const StepWork &work() const { return planWork; }
  const StepCost &stepCost() const { return cost; }

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
  /// What each sequence has in the batch, drafts among it.
  std::span<const Share> shares() const { return planned; }

  /// Prompt tokens of the sequence that were found in the prefix cache.
  int64_t cachedTokens(SequenceId id) const { return sequences.at(id)->cachedTokens; }
  /// Tokens of the sequence whose state is there, without those of the planned step.
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
  // Lifetime.cpp: sequences come and go.
  Sequence &create(SequenceId id, const SequenceOptions &options);
  void startRunning(Sequence &sequence);
  void stopRunning(Sequence &sequence);
  void countRunning(const Sequence &sequence, int change);
  // Admission.cpp: seats and memory.
  void admit();
  SequenceMemory::Admission tryAdmit(Sequence &sequence);
  bool displaceFor(const Sequence &sequence, const SequenceMemory::Admission &refused);
  bool makeRoom(Sequence &sequence);
  bool idleGivesWay();
  int64_t seatsLacking(const Sequence &sequence) const;
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
  std::vector<Sequence *> active; ///< first those that are preempted last
  int64_t keptSeats = 0;          ///< for further sequences of groups that run
  ScheduleStats counts;
  std::vector<const Holding *> victims; ///< of one request

  BatchView batch{};
  StepWork planWork;
  std::vector<int32_t> ids, positions, sequenceOf, rowTokens;
  std::vector<AttentionTile> tiles;
  std::vector<Row> rowOwners;
  std::vector<Share> planned;
  std::vector<StateSpan> spans;
  std::vector<StateWrite> versionWrites;
  std::vector<Sequence *> prompts; ///< in the order in which they get their share of a step
};

} // namespace ingot::runtime
