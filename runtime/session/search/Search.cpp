//===- Search.cpp - Handles rows; forks and ends sequences -----------------===//
#include "runtime/session/search/Search.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

Search::Search(const Surroundings &surroundings, SequenceId first, std::vector<Answer *> wanted,
               Request given, int64_t most)
    : around(surroundings), request(std::move(given)), maxTokens(most), answers(std::move(wanted)),
      prompt(int64_t(request.promptIds.size())) {
  assert(!answers.empty() && "a search has an answer");
  live.push_back({first,
                  std::make_unique<Hypothesis>(request, around.eos, around.tokenizer),
                  0,
                  false,
                  {},
                  {}});
  around.owners.emplace(first, this);
}

void Search::start(int64_t cachedTokens) {
  for (Answer *answer : answers)
    if (!answer->started())
      answer->start(cachedTokens);
}

bool Search::over() const { return std::ranges::all_of(answers, &Answer::finished); }

void Search::release() {
  for (const Member &member : live) {
    around.owners.erase(member.sequence);
    around.scheduler.finish(member.sequence);
  }
  live.clear();
}

void Search::fail(const Error &error) {
  for (Answer *answer : answers)
    if (!answer->finished())
      answer->fail(error);
}

void Search::takeRow(const Scheduler::Row &row, int64_t index) {
  auto member = std::ranges::find(live, row.sequence, &Member::sequence);
  assert(member != live.end() && !member->ready && "a row of another search, or a second one");
  if (row.position + 1 < prompt)
    return sawRow(nullptr, index);
  sawRow(&*member, index);
  rank(*member, index);
  member->ready = true;
  if (!over() && std::ranges::all_of(live, &Member::ready))
    decide();
}

/// Stores the needed part of a row, because the next step overwrites the row.
void Search::rank(Member &member, int64_t index) {
  if (member.hypothesis->ended())
    return;
  const float *logits = around.executor.logits() + index * around.executor.logitsStride();
  if (request.onLogits) {
    edited.assign(logits, logits + around.ranking.size());
    request.onLogits({uint32_t(&member - live.data()), member.hypothesis->ids(), edited});
    logits = edited.data();
  }
  auto allowed = member.hypothesis->allowed();
  if (!allowed)
    return fail(allowed.error());
  member.next = around.ranking.best(logits, wanted(), request.sampling.logitBias, *allowed);
  if (request.sampling.topLogprobs > 0)
    member.likeliest = around.ranking.likeliest(logits, size_t(request.sampling.topLogprobs));
}

std::unique_ptr<Hypothesis> Search::extended(const Member &member,
                                             const RowRanking::Candidate &candidate) {
  assert(!member.hypothesis->ended() && "a hypothesis that has ended goes no further");
  auto hypothesis = std::make_unique<Hypothesis>(*member.hypothesis);
  std::vector<TokenLogprob> logprobs;
  if (request.sampling.topLogprobs >= 0) {
    logprobs.push_back({candidate.id, candidate.own});
    logprobs.insert(logprobs.end(), member.likeliest.begin(), member.likeliest.end());
  }
  if (auto taken = hypothesis->take(candidate.id, logprobs); !taken) {
    fail(taken.error());
    return nullptr;
  }
  return hypothesis;
}

void Search::goOn(std::vector<Next> next) {
  assert(!next.empty() && "no sequence is left, and the answers have not ended");
  std::vector<int> uses(live.size());
  for (const Next &one : next) {
    assert(one.parent < live.size() && "a sequence goes on from none of the search");
    ++uses[one.parent];
  }
  // Finish the sequences that do not continue first, so that their slots are free for forks.
  for (size_t i = 0; i < live.size(); ++i)
    if (uses[i] == 0) {
      around.owners.erase(live[i].sequence);
      around.scheduler.finish(live[i].sequence);
    }
  std::vector<Member> members;
  for (Next &one : next) {
    SequenceId sequence = live[one.parent].sequence;
    if (--uses[one.parent] > 0) { // the last use continues the sequence itself
      sequence = around.scheduler.fork(sequence);
      around.owners.emplace(sequence, this);
    }
    members.push_back({sequence, std::move(one.hypothesis), one.score, false, {}, {}});
  }
  live = std::move(members);
  for (size_t i = 0; i < live.size(); ++i)
    around.scheduler.append(live[i].sequence, next[i].id);
}

void Search::deliver(const Hypothesis &hypothesis, size_t first, Answer &answer) {
  for (size_t i = first; i < hypothesis.ids().size() && !answer.finished(); ++i)
    answer.take(hypothesis.ids()[i], hypothesis.logprobs(i));
}

} // namespace ingot::runtime
