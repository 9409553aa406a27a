//===- FakeModel.cpp - See FakeModel.h -------------------------------------===//
#include "tests/runtime/schedule/FakeModel.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

using namespace ingot::runtime;

namespace ingot::test {

uint64_t fold(uint64_t hash, int32_t token) {
  hash = (hash ^ uint64_t(uint32_t(token))) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

int32_t nextToken(uint64_t hash, int32_t choice) { return int32_t(fold(hash, choice + 77) % 1000); }

std::vector<int32_t> answerAlone(std::vector<int32_t> tokens, int64_t count, int32_t choice) {
  uint64_t hash = 0;
  for (int32_t token : tokens)
    hash = fold(hash, token);
  size_t prompt = tokens.size();
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(nextToken(hash, choice));
    hash = fold(hash, tokens.back());
  }
  return {tokens.begin() + long(prompt), tokens.end()};
}

namespace {

uint64_t hashOf(const std::vector<int32_t> &tokens) {
  uint64_t hash = 0;
  for (int32_t token : tokens)
    hash = fold(hash, token);
  return hash;
}

/// Returns the index, among the `live` sequences of a search, of the one that continues at `place`. Usually each
/// sequence continues itself, so that their pages differ.
size_t parentOf(int64_t round, int64_t place, size_t live) {
  return size_t(round % 16 == 5 ? fold(uint64_t(round), int32_t(place)) : uint64_t(place)) % live;
}

} // namespace

std::vector<std::vector<int32_t>> groupAlone(std::vector<int32_t> prompt, int64_t count,
                                             int64_t width) {
  std::vector<std::vector<int32_t>> live{std::move(prompt)};
  for (int64_t round = 0; round < count; ++round) {
    std::vector<std::vector<int32_t>> next;
    for (int64_t place = 0; place < width; ++place) {
      next.push_back(live[parentOf(round, place, live.size())]);
      next.back().push_back(nextToken(hashOf(next.back()), int32_t(place)));
    }
    live = std::move(next);
  }
  return live;
}

std::vector<int32_t> promptOf(int64_t length, int32_t seed) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < length; ++i)
    ids.push_back(int32_t((i * 31 + seed * 101 + length * 0) % 997));
  return ids;
}

static int64_t mostOfOneStep(const FakeSetup &setup) {
  return std::min(setup.limits.prefillChunk, setup.limits.maxBatchTokens);
}

FakeModel::FakeModel(const FakeSetup &given)
    : setup(given), swapMemory(given.swapPages * kPageTokens * sizeof(uint64_t)),
      sequenceMemory(
          {given.groups, given.rows, given.context, kPageTokens, mostOfOneStep(given), given.fixed},
          given.moves ? this : nullptr, swapMemory),
      pool(sequenceMemory.pages()), scheduler(sequenceMemory, given.limits, given.policy) {
  for (const KvGroup &group : given.groups)
    memory.emplace_back(size_t(group.pages * kPageTokens), 0xDEAD);
  states.assign(size_t(given.fixed.slots), State{-1e30f, -1e30f});
}

void FakeModel::copy(size_t group, int32_t from, int32_t to) {
  ASSERT_NE(from, to);
  std::memcpy(slots(group, to), slots(group, from), pageBytes(group));
}
void FakeModel::save(size_t group, int32_t page, std::byte *to) {
  const void *from =
      group < memory.size() ? (const void *)slots(group, page) : &states[size_t(page)];
  std::memcpy(to, from, pageBytes(group));
}
void FakeModel::load(size_t group, const std::byte *from, int32_t page) {
  void *to = group < memory.size() ? (void *)slots(group, page) : &states[size_t(page)];
  std::memcpy(to, from, pageBytes(group));
}

/// Returns the recurrent state after one more token. It depends on order and rounding.
static FakeModel::State scan(FakeModel::State state, int32_t token) {
  auto rounded = [](float value) { // to bf16, ties to even
    auto bits = std::bit_cast<uint32_t>(value);
    bits += 0x7FFF + ((bits >> 16) & 1);
    return std::bit_cast<float>(bits & 0xFFFF0000u);
  };
  return {rounded(0.96875f * state[0] + float(token)),
          rounded(-0.875f * state[1] + state[0] * 0.0078125f)};
}

SequenceId FakeModel::ask(std::vector<int32_t> prompt, int64_t maxNew, SequenceOptions options,
                          int32_t choices) {
  options.maxNew = maxNew;
  SequenceId id = scheduler.add(prompt, options);
  auto size = int64_t(prompt.size());
  Answer answer{std::move(prompt), size, maxNew, 0, {}, options.everyPosition, 0, false, -1, false};
  for (int32_t choice = 1; choice < choices; ++choice) {
    SequenceId child = scheduler.reserveId();
    answers[child] = answer;
    answers[child].choice = choice;
    answer.forks.push_back(child);
    for (SequenceId earlier : answer.forks)
      answers[earlier].forks.clear();
  }
  answers[id] = std::move(answer);
  return id;
}

size_t FakeModel::askGroup(std::vector<int32_t> prompt, int64_t count, int64_t width,
                           SequenceOptions options) {
  options.maxNew = count;
  options.slots = width;
  SequenceId id = scheduler.add(prompt, options);
  auto size = int64_t(prompt.size());
  answers[id] = {
      prompt, size, count, 0, {}, options.everyPosition, 0, false, int64_t(groups.size()), false};
  groups.push_back({std::move(prompt), count, width, {id}});
  return groups.size() - 1;
}

void FakeModel::cancelGroup(size_t number) {
  Group &group = groups[number];
  for (SequenceId id : group.live) {
    scheduler.finish(id);
    answers.erase(id);
  }
  group.live.clear();
  group.done = true;
}

/// Called when all sequences of the search have their row. Some continue, possibly several times; others end.
void FakeModel::goOn(Group &group) {
  struct Next {
    SequenceId parent;
    int32_t token;
  };
  std::vector<Next> next;
  for (int64_t place = 0; place < group.width; ++place) {
    SequenceId parent = group.live[parentOf(group.round, place, group.live.size())];
    next.push_back({parent, nextToken(hashOf(answers.at(parent).tokens), int32_t(place))});
  }
  if (++group.round == group.count) {
    for (const Next &one : next) {
      group.found.push_back(answers.at(one.parent).tokens);
      group.found.back().push_back(one.token);
    }
    return cancelGroup(size_t(&group - groups.data()));
  }
  std::map<SequenceId, int> uses;
  for (const Next &one : next)
    ++uses[one.parent];
  for (SequenceId id : group.live)
    if (!uses.contains(id)) {
      scheduler.finish(id);
      answers.erase(id);
    }
  std::vector<SequenceId> live;
  for (const Next &one : next) { // the last child of a parent is the parent itself
    SequenceId id = one.parent;
    if (--uses[one.parent] > 0) {
      id = scheduler.fork(one.parent);
      answers[id] = answers.at(one.parent);
    }
    live.push_back(id);
  }
  for (size_t i = 0; i < live.size(); ++i) {
    answers.at(live[i]).tokens.push_back(next[i].token);
    scheduler.append(live[i], next[i].token);
  }
  group.live = std::move(live);
  group.rows = 0;
}

void FakeModel::cancel(SequenceId id) {
  Answer &own = answers.at(id);
  ASSERT_TRUE(own.forks.empty()) << "ask for one choice";
  scheduler.finish(id);
  own.done = true;
}

/// Checks that the batch matches the sequences, and that all values it reads are in the pages.
void FakeModel::check(const BatchView &batch) {
  ASSERT_GT(batch.tokens, 0);
  ASSERT_LE(batch.tokens, setup.limits.maxBatchTokens);
  ASSERT_LE(batch.rows, setup.limits.logitsRows);
  mostTokens = std::max(mostTokens, batch.tokens);
  computed += batch.tokens;
  int64_t token = 0, row = 0, tile = 0;
  for (Scheduler::Share share : scheduler.shares()) {
    const Answer &own = answers.at(share.sequence);
    ASSERT_FALSE(own.done);
    ASSERT_LE(share.tokens, setup.limits.prefillChunk);
    int32_t tableRow = batch.sequenceOf[token];
    int64_t first = batch.positions[token];
    slotOf[share.sequence] = tableRow;
    firstOf[share.sequence] = first;
    std::vector<int32_t> tokens = own.tokens;
    tokens.insert(tokens.end(), own.proposed.begin(), own.proposed.end());
    ASSERT_LE(first + share.tokens, int64_t(tokens.size()));
    if (first + share.tokens > int64_t(own.tokens.size()))
      ASSERT_EQ(first + 1, int64_t(own.tokens.size())) << "drafts of a sequence that decodes";
    // Write first, since a step may read what it writes.
    std::vector<uint64_t> hashes{0};
    for (int64_t i = 0; i < first + share.tokens; ++i)
      hashes.push_back(fold(hashes.back(), tokens[size_t(i)]));
    for (int64_t i = 0; i < share.tokens; ++i, ++token) {
      int64_t position = first + i;
      ASSERT_EQ(batch.positions[token], position);
      ASSERT_EQ(batch.sequenceOf[token], tableRow);
      const bool unknown = own.unknown && position + 1 == int64_t(own.tokens.size());
      ASSERT_EQ(batch.ids[token], unknown ? own.unknown : tokens[size_t(position)]);
      for (size_t g = 0; g < pool.groups(); ++g) {
        auto held = pool.held(tableRow, g);
        ASSERT_TRUE(held.first <= position / kPageTokens && position / kPageTokens < held.end);
        int32_t page = pool.page(tableRow, g, position / kPageTokens);
        ASSERT_EQ(pool.pagesOf(g).holdersOf(page), 1) << "writes to what others read";
        slots(g, page)[position % kPageTokens] = hashes[size_t(position) + 1];
      }
      if ((own.everyPosition && position < own.prompt && !own.promptSeen) ||
          position + 1 >= int64_t(own.tokens.size())) {
        ASSERT_LT(row, batch.rows);
        ASSERT_EQ(batch.rowTokens[row], token);
        ASSERT_EQ(scheduler.rows()[size_t(row)].sequence, share.sequence);
        ASSERT_EQ(scheduler.rows()[size_t(row)].position, position);
        ++row;
      }
    }
    for (size_t g = 0; g < pool.groups(); ++g) {
      int64_t window = setup.groups[g].window;
      int64_t seen = window ? std::max<int64_t>(0, first + 1 - window) : 0;
      for (int64_t position = seen; position < first + share.tokens; ++position)
        ASSERT_EQ(slots(g, pool.page(tableRow, g, position / kPageTokens))[position % kPageTokens],
                  hashes[size_t(position) + 1])
            << "group " << g << ", position " << position << " of sequence " << share.sequence;
    }
    for (int64_t i = 0; i < share.tokens; ++tile) {
      ASSERT_LT(tile, batch.tiles);
      const AttentionTile &t = batch.attentionTiles[tile];
      ASSERT_GE(t.tokens, 1);
      ASSERT_LE(t.tokens, kAttentionTile);
      ASSERT_EQ(t.firstToken, token - share.tokens + i);
      ASSERT_EQ(t.sequence, tableRow);
      ASSERT_EQ(t.firstPosition, first + i);
      i += t.tokens;
      ASSERT_LE(i, share.tokens);
    }
  }
  ASSERT_EQ(token, batch.tokens);
  ASSERT_EQ(row, batch.rows);
  ASSERT_EQ(tile, batch.tiles);
}

/// Reads all snapshots, then writes all of them, starting with the last sequence's.
void FakeModel::checkStates(const BatchView &batch) {
  const std::span spans(batch.stateSpans, size_t(batch.spanCount));
  const StateWrite *const writes = batch.stateWrites;
  if (setup.fixed.slots == 0) {
    ASSERT_TRUE(!batch.stateSpans && spans.empty() && !writes);
    return;
  }
  const auto shares = scheduler.shares();
  ASSERT_EQ(spans.size(), shares.size());
  std::vector<State> read;
  for (const auto &span : spans)
    read.push_back(span.from < 0 ? State{} : states[size_t(span.from)]);
  std::set<int32_t> written;
  for (size_t i = spans.size(); i-- > 0;) {
    const auto &span = spans[i];
    const Answer &own = answers.at(shares[i].sequence);
    ASSERT_EQ(span.tokens, shares[i].tokens);
    std::vector<int32_t> tokens = own.tokens;
    tokens.insert(tokens.end(), own.proposed.begin(), own.proposed.end());
    State alone{};
    const int64_t first = firstOf.at(shares[i].sequence);
    ASSERT_EQ(span.from < 0, first == 0);
    for (int64_t t = 0; t < first; ++t)
      alone = scan(alone, tokens[size_t(t)]);
    ASSERT_EQ(read[i], alone) << "sequence " << shares[i].sequence << " at " << first;
    int32_t next = span.firstWrite;
    for (int32_t t = 0; t < span.tokens; ++t) {
      alone = scan(alone, tokens[size_t(first + t)]);
      if (next == span.firstWrite + span.writes ||
          writes[size_t(next)].token != span.firstToken + t)
        continue;
      const int32_t slot = writes[size_t(next++)].slot;
      ASSERT_TRUE(written.insert(slot).second) << "two write there";
      for (size_t other = 0; other < spans.size(); ++other)
        ASSERT_TRUE(other == i || spans[other].from != slot) << "another one may read it now";
      replaced += slot == span.from;
      states[size_t(slot)] = alone;
    }
    ASSERT_EQ(next, span.firstWrite + span.writes);
    ASSERT_GE(span.writes, 1);
    ASSERT_GE(writes[size_t(next) - 1].token, span.firstToken + span.tokens - 1) << "the last";
  }
}

bool FakeModel::takeToken(SequenceId id, uint64_t hash) {
  Answer &own = answers.at(id);
  own.tokens.push_back(nextToken(hash, own.choice));
  own.done = int64_t(own.tokens.size()) - own.prompt >= own.maxNew;
  if (own.done)
    finished.push_back(id);
  return !own.done;
}

void FakeModel::takeRow(const Scheduler::Row &row) {
  Answer &own = answers.at(row.sequence);
  ++own.rows;
  if (row.position + 1 != int64_t(own.tokens.size()))
    return; // it is a row of everyPosition
  own.promptSeen = true;
  if (own.group >= 0) {
    Group &group = groups[size_t(own.group)];
    if (++group.rows == group.live.size())
      goOn(group);
    return;
  }
  if (own.maxNew == 0) {
    own.done = true;
    finished.push_back(row.sequence);
    scheduler.finish(row.sequence);
    return;
  }
  uint64_t hash = 0;
  for (int32_t token : own.tokens)
    hash = fold(hash, token);
  for (SequenceId child : std::exchange(own.forks, {})) {
    if (!takeToken(child, hash))
      continue;
    scheduler.fork(row.sequence, child);
    scheduler.append(child, answers.at(child).tokens.back());
  }
  if (takeToken(row.sequence, hash))
    scheduler.append(row.sequence, own.tokens.back());
  else
    scheduler.finish(row.sequence);
}

/// Proposes right and wrong guesses of the next tokens.
void FakeModel::propose() {
  for (auto &[id, own] : answers) {
    own.proposed.clear();
    if (own.done || own.group >= 0 || !own.promptSeen)
      continue;
    std::vector<int32_t> line = own.tokens;
    for (auto left = int64_t(random() % uint32_t(setup.drafts + 1)); left > 0; --left) {
      line.push_back(nextToken(hashOf(line), own.choice));
      line.back() += int(random() % 100) >= setup.rightDrafts;
      own.proposed.push_back(line.back());
    }
    scheduler.propose(id, own.proposed);
  }
}

/// Accepts drafts. The rows after the last token show how many were right.
void FakeModel::takeDrafts(SequenceId id, int64_t drafts) {
  Answer &own = answers.at(id);
  int64_t accepted = 0;
  while (accepted < drafts &&
         own.proposed[size_t(accepted)] == nextToken(hashOf(own.tokens), own.choice))
    own.tokens.push_back(own.proposed[size_t(accepted++)]);
  own.rows += accepted;
  scheduler.commit(id, accepted);
  for (size_t g = 0; g < pool.groups(); ++g)
    ASSERT_EQ(pool.held(slotOf.at(id), g).end, pool.pagesFor(int64_t(own.tokens.size())))
        << "pages are those without drafts";
}

bool FakeModel::begin() {
  const BatchView *batch = scheduler.plan(double(steps));
  if (!batch)
    return false;
  check(*batch);
  checkStates(*batch);
  scheduler.complete();
  underWay.assign(scheduler.rows().begin(), scheduler.rows().end());
  ++steps;
  return true;
}

/// Begins the step after the one in flight, with ids that are not known yet. Some of those ids end
/// their answers, which have then been computed past their end.
bool FakeModel::stepAhead() {
  if (underWay.empty() && !begin())
    return false;
  const std::vector<Scheduler::Row> rows = std::exchange(underWay, {});
  auto isLast = [](const Answer &own) {
    return int64_t(own.tokens.size()) - own.prompt >= own.maxNew;
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    Answer &own = answers.at(rows[i].sequence);
    if (own.done)
      continue;
    own.tokens.push_back(nextToken(hashOf(own.tokens), own.choice));
    own.promptSeen = true;
    if (!isLast(own))
      scheduler.append(rows[i].sequence, own.unknown = ~int32_t(i));
  }
  begin();
  for (const Scheduler::Row &row : rows) {
    Answer &own = answers.at(row.sequence);
    if (own.done)
      continue;
    own.unknown = 0;
    own.done = isLast(own) || int(random() % 100) < setup.ends;
    if (own.done)
      finished.push_back(row.sequence);
    own.done ? scheduler.finish(row.sequence) : scheduler.append(row.sequence, own.tokens.back());
  }
  return true;
}

bool FakeModel::step() {
  if (setup.ahead)
    return stepAhead();
  if (setup.drafts > 0)
    propose();
  if (!begin())
    return false;
  std::vector<Scheduler::Row> rows = std::exchange(underWay, {});
  for (size_t i = 0; i < rows.size();) {
    const SequenceId id = rows[i].sequence;
    size_t end = i + 1;
    while (end < rows.size() && rows[end].sequence == id &&
           rows[end].position >= int64_t(answers.at(id).tokens.size()))
      ++end;
    if (end - i > 1) {
      takeDrafts(id, int64_t(end - i) - 1);
      rows[i].position = int64_t(answers.at(id).tokens.size()) - 1;
    }
    takeRow(rows[i]);
    i = end;
  }
  return true;
}

void FakeModel::run() {
  while (step()) {
    ASSERT_LT(steps, 200000);
    if (testing::Test::HasFatalFailure())
      return;
  }
  for (const auto &[id, own] : answers) {
    ASSERT_TRUE(own.done) << "sequence " << id << " was left behind";
    std::vector<int32_t> prompt(own.tokens.begin(), own.tokens.begin() + long(own.prompt));
    std::vector<int32_t> expected =
        answerAlone(prompt, int64_t(own.tokens.size()) - own.prompt, own.choice);
    ASSERT_EQ(std::vector<int32_t>(own.tokens.begin() + long(own.prompt), own.tokens.end()),
              expected)
        << "sequence " << id;
  }
  for (const Group &group : groups) {
    ASSERT_TRUE(group.done);
    if (!group.found.empty()) // it was not cancelled
      ASSERT_EQ(group.found, groupAlone(group.prompt, group.count, group.width));
  }
  expectNothingHeld();
}

void FakeModel::expectNothingHeld() {
  EXPECT_EQ(pool.pagesInUse(), 0);
  EXPECT_EQ(pool.freeSlots(), setup.rows);
  for (size_t g = 0; g < pool.groups(); ++g) {
    EXPECT_EQ(pool.promisedPages(g), 0);
    EXPECT_EQ(pool.availablePages(g), setup.groups[g].pages);
  }
  if (const StateSnapshots *snapshots = sequenceMemory.snapshots()) {
    EXPECT_EQ(snapshots->slots().held(), 0);
    EXPECT_EQ(snapshots->promised(), 0);
  }
  EXPECT_EQ(scheduler.stats().swapBytesUsed, 0u);
  EXPECT_EQ(scheduler.running(), 0);
  EXPECT_EQ(scheduler.queued(), 0);
}

} // namespace ingot::test
