//===- Scheduler.cpp - Building ragged batches -----------------------------===//
#include "runtime/schedule/Scheduler.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

Scheduler::Scheduler(SequenceMemory &sequenceMemory, const ScheduleLimits &scheduleLimits,
                     const SchedulePolicy &schedulePolicy, const StepCostTable &costs)
    : memory(sequenceMemory), limits(scheduleLimits), policy(schedulePolicy), cost(costs),
      queue(schedulePolicy.order) {
  const auto slots = size_t(memory.slots());
  assert(limits.maxBatchTokens >= memory.slots() && limits.logitsRows >= memory.slots() &&
         "all sequences may decode in one step");
  assert(limits.prefillChunk >= 1 && "prompts would never end");
  size_t tokens = size_t(limits.maxBatchTokens);
  ids.reserve(tokens);
  positions.reserve(tokens);
  sequenceOf.reserve(tokens);
  rowTokens.reserve(size_t(limits.logitsRows));
  rowOwners.reserve(size_t(limits.logitsRows));
  // Full tiles, plus one partial tile per sequence.
  tiles.reserve(std::min(tokens, tokens / size_t(kAttentionTile) + slots));
  planned.reserve(slots);
  active.reserve(slots);
  prompts.reserve(slots);
  victims.reserve(slots);
}

/// Makes room for the next `count` tokens of a running sequence. Returns false if the sequence must skip this
/// step, either because there is no room or because it must recompute some tokens first.
bool Scheduler::readyToWrite(Sequence &sequence, int64_t count) {
  using Room = SequenceMemory::Room;
  Room room = memory.extend(sequence.held, count);
  while (room == Room::None && makeRoom(sequence))
    room = memory.extend(sequence.held, count);
  if (room == Room::StepBack)
    sequence.goal = int64_t(sequence.tokens.size());
  return room == Room::There;
}

/// Adds the next `count` tokens of the sequence to the batch, ending with drafts.
void Scheduler::take(Sequence &sequence, int64_t count) {
  int64_t first = sequence.computed(), firstRow = int64_t(ids.size()),
          rowsBefore = int64_t(rowTokens.size());
  assert(count >= 1 && sequence.held.slot >= 0 && sequence.state == Sequence::State::Running &&
         "only running sequences take part in a step");
  assert(first + count <= int64_t(sequence.tokens.size() + sequence.drafts.size()) &&
         "more tokens than the sequence and its drafts have");
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = first + i;
    const int64_t behind = position - int64_t(sequence.tokens.size()); // index among the drafts
    ids.push_back(behind < 0 ? sequence.tokens[size_t(position)] : sequence.drafts[size_t(behind)]);
    positions.push_back(int32_t(position));
    sequenceOf.push_back(sequence.held.slot);
    if (sequence.wantsRows() || behind >= -1) { // the last token and drafts get a row
      rowTokens.push_back(int32_t(firstRow + i));
      rowOwners.push_back({sequence.id, position});
    }
  }
  for (int64_t i = 0; i < count; i += kAttentionTile)
    tiles.push_back({int32_t(firstRow + i), int32_t(std::min(kAttentionTile, count - i)),
                     sequence.held.slot, int32_t(first + i)});
  assert(int64_t(ids.size()) <= limits.maxBatchTokens && "the step has too many tokens");
  assert(int64_t(rowTokens.size()) <= limits.logitsRows && "the step has too many rows");
  if (memory.snapshots())
    takeStates(sequence, firstRow, count);
  sequence.inStep = count;
  planned.push_back({sequence.id, count});
  planWork = planWork + StepWork::chunk(first, count, int64_t(rowTokens.size()) - rowsBefore);
}

/// Adds the snapshots that the sequence reads and writes in the step.
void Scheduler::takeStates(const Sequence &sequence, int64_t firstToken, int64_t count) {
  const StateSnapshots &snapshots = *memory.snapshots();
  const auto writes = snapshots.writes(sequence.held.slot);
  assert(!writes.empty() && writes.front().position > sequence.computed() &&
         writes.back().position == sequence.computed() + count &&
         "the last snapshot that a step writes is the one after its last token");
  spans.push_back({int32_t(firstToken), int32_t(count), snapshots.from(sequence.held.slot),
                   int32_t(snapshotWrites.size()), int32_t(writes.size()), 0});
  for (const SnapshotWrite &write : writes)
    snapshotWrites.push_back(
        {int32_t(firstToken + write.position - 1 - sequence.computed()), write.slot});
}

/// Reserves memory for drafts in the next step of the sequence, and returns how many fit, up to `most`.
int64_t Scheduler::draftsFor(Sequence &sequence, int64_t most) {
  most = std::min({most, int64_t(sequence.drafts.size()), limits.prefillChunk - 1});
  return most > 0 ? memory.propose(sequence.held, most) : 0;
}

void Scheduler::takeDecodes() {
  for (size_t i = 0; i < active.size(); ++i) // preemption removes only later elements
    if (Sequence &sequence = *active[i];
        sequence.decoding() && sequence.pending() && readyToWrite(sequence, 1))
      sequence.inStep = 1;
  // Drafts use the tokens and rows that are left when every running sequence has one of each.
  int64_t spare = std::min(limits.maxBatchTokens, limits.logitsRows) - running();
  assert(spare >= 0 && "more sequences run than there are sequence slots");
  for (Sequence *sequence : active)
    if (sequence->inStep) {
      const int64_t drafts = draftsFor(*sequence, spare);
      spare -= drafts;
      take(*sequence, 1 + drafts);
    }
}

/// Fills `prompts`. Returns the number of tokens of `budget` that are reserved for the first prompt. They stay reserved
/// if other prompts get their tokens first.
int64_t Scheduler::orderPrompts(const Sequence &first, int64_t budget) {
  prompts.clear();
  for (Sequence *sequence : active)
    if (!sequence->decoding() && sequence->pending())
      prompts.push_back(sequence);
  if (policy.chunks.order == PromptOrder::Arrival || prompts.size() < 2)
    return 0;
  std::ranges::sort(prompts, [this](const Sequence *a, const Sequence *b) {
    if (queue.priorityOf(*a) != queue.priorityOf(*b))
      return queue.priorityOf(*a) < queue.priorityOf(*b);
    return a->pending() != b->pending() ? a->pending() < b->pending() : queue.before(*a, *b);
  });
  return std::min(first.pending(), (budget + 1) / 2);
}

void Scheduler::takePrompts(double now) {
  ChunkQuery asked{
      planWork, int64_t(planned.size()), 0, 0, 0, limits.maxBatchTokens - int64_t(ids.size()), 0};
  const Sequence *first = nullptr;
  for (const Sequence *sequence : active) {
    if (sequence->decoding() || !sequence->pending())
      continue;
    ++asked.prompts;
    if (!first || queue.sooner(*sequence, *first))
      first = sequence;
    asked.promptTokens += sequence->pending();
    asked.waited = std::max(asked.waited, now - sequence->options.arrival);
  }
  if (!first)
    return;
  asked.firstPosition = first->computed();
  const int64_t budget = chunkBudget(cost, policy.chunks, asked);
  const int64_t most = int64_t(ids.size()) + budget;
  // These tokens and one logits row are reserved for the first prompt until its turn.
  int64_t kept = orderPrompts(*first, budget);
  for (Sequence *sequence : prompts) {
    if (sequence == first)
      kept = 0;
    if (sequence->state != Sequence::State::Running) // it was preempted for an earlier one
      continue;
    int64_t count =
        std::min({sequence->pending(), limits.prefillChunk, most - kept - int64_t(ids.size())});
    int64_t rowsLeft = limits.logitsRows - int64_t(rowTokens.size()) - (kept > 0);
    if (sequence->wantsRows())
      count = std::min(count, rowsLeft);
    else if (rowsLeft <= 0) // take all tokens except the one that needs a row
      count = std::min(count, sequence->pending() - 1);
    if (count <= 0)
      continue;
    if (readyToWrite(*sequence, count))
      take(*sequence, count);
  }
}

const BatchView *Scheduler::plan(double now) {
  for (Sequence *sequence : active) {
    assert(sequence->uncertain == 0 && "how many of its drafts were right?");
    sequence->inStep = 0; // a plan that was not executed may have left a value
  }
  do {
    admit();
    ids.clear();
    positions.clear();
    sequenceOf.clear();
    rowTokens.clear();
    rowOwners.clear();
    tiles.clear();
    planned.clear();
    spans.clear();
    snapshotWrites.clear();
    planWork = {};
    takeDecodes();
    takePrompts(now);
  } while (ids.empty() && preemptIdle());
  if (ids.empty())
    return nullptr;

  assert(positions.size() == ids.size() && sequenceOf.size() == ids.size() &&
         rowOwners.size() == rowTokens.size() && "parallel arrays of the batch differ in length");
  assert((!memory.snapshots() || spans.size() == planned.size()) &&
         "each sequence of the step has one span of states");
  batch.tokens = int64_t(ids.size());
  batch.sequences = memory.slots();
  batch.rows = int64_t(rowTokens.size());
  batch.tiles = int64_t(tiles.size());
  batch.ids = ids.data();
  batch.positions = positions.data();
  batch.sequenceOf = sequenceOf.data();
  batch.rowTokens = rowTokens.data();
  batch.attentionTiles = tiles.data();
  batch.blockTable = memory.tables().front();
  batch.blockTableStride = memory.tableStride();
  batch.groupTables = memory.tables().data();
  if (memory.snapshots()) {
    batch.stateSpans = spans.data();
    batch.spanCount = int64_t(spans.size());
    batch.stateWrites = snapshotWrites.data();
  }
  return &batch;
}

void Scheduler::complete() {
  ++counts.steps;
  for (const Share &share : planned) {
    Sequence &sequence = *sequences.at(share.sequence);
    assert(sequence.state == Sequence::State::Running && sequence.inStep == share.tokens &&
           "the sequence has changed since it was planned");
    if (sequence.wantsRows())
      sequence.rowsGiven = sequence.computed() + sequence.inStep;
    sequence.uncertain = std::max<int64_t>(0, sequence.inStep - sequence.pending());
    counts.draftTokens += uint64_t(sequence.uncertain);
    if (sequence.uncertain == 0)
      settle(sequence, sequence.inStep);
    sequence.inStep = 0;
  }
}

void Scheduler::propose(SequenceId id, std::span<const int32_t> drafts) {
  Sequence &sequence = *sequences.at(id);
  assert(sequence.uncertain == 0 && sequence.tokens.back() >= 0 &&
         "a draft follows a token that is known");
  const int64_t most = sequence.positions - int64_t(sequence.tokens.size());
  drafts = drafts.first(std::min(size_t(std::max<int64_t>(0, most)), drafts.size()));
  sequence.drafts.assign(drafts.begin(), drafts.end());
}

void Scheduler::commit(SequenceId id, int64_t accepted) {
  Sequence &sequence = *sequences.at(id);
  assert(0 <= accepted && accepted <= sequence.uncertain && "more than the drafts of the step");
  if (sequence.uncertain == 0)
    return;
  assert(sequence.uncertain <= int64_t(sequence.drafts.size()) &&
         "the drafts of a step are dropped before they are accepted");
  const int64_t count = sequence.pending() + accepted;
  sequence.tokens.insert(sequence.tokens.end(), sequence.drafts.begin(),
                         sequence.drafts.begin() + accepted);
  sequence.drafts.clear();
  sequence.uncertain = 0;
  counts.acceptedTokens += uint64_t(accepted);
  settle(sequence, count);
}

/// Marks the next `count` tokens of the sequence as computed.
void Scheduler::settle(Sequence &sequence, int64_t count) {
  assert(count >= 1 && "each step computes a token of each of its sequences");
  const bool decoded = sequence.decoding();
  memory.commit(sequence.held, sequence.tokens, count);
  (decoded ? counts.decodeTokens : counts.promptTokens) += uint64_t(count);
  queue.serve(sequence.options.user, double(count) * (decoded ? 2 : 1));
}

ScheduleStats Scheduler::stats() const {
  ScheduleStats now = counts;
  now.running = running();
  now.waiting = queue.size();
  now.waitingTokens = queue.tokens();
  now.pagesUsed = memory.pages().pagesInUse();
  now.pagesCached = memory.pages().pagesCached();
  now.pages = memory.pages().totalPages();
  if (const StateSnapshots *snapshots = memory.snapshots()) {
    now.snapshotsUsed = snapshots->slots().held();
    now.snapshotsCached = snapshots->slots().cached();
    now.snapshots = snapshots->slots().total();
  }
  const SequenceMemory::Counts moved = memory.counts();
  now.swapBytesUsed = moved.hostBytesUsed;
  now.swaps = moved.saves;
  now.swappedBytes = moved.savedBytes;
  now.copiedPages = moved.copiedPages;
  for (const Sequence *sequence : active)
    now.unusedSlots += memory.unusedPositions(sequence->held);
  return now;
}

} // namespace ingot::runtime
