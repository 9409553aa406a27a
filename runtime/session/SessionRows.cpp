//===- SessionRows.cpp - Handles the rows of a step -----------------------===//
//
// After a step, each row belongs to a sequence. One of four things happens to the row: an answer samples its next token
// from it, several choices begin with it, an embedding is made of it, or a search takes it and waits for the rows of
// its other sequences. This file decides which sequences continue, fork or end. For a search, the files in search/
// decide.
//===----------------------------------------------------------------------===//
#include "runtime/session/SessionImpl.h"
#include "runtime/session/search/BeamSearch.h"
#include "runtime/session/search/ContrastiveSearch.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

bool Session::Impl::deviceDraws() {
  sampling.clear();
  if (int64_t(scheduler->rows().size()) > executor->mostDrawnRows())
    return false;
  for (const Scheduler::Row &row : scheduler->rows()) {
    if (!choicesOf.empty() && choicesOf.contains(row.sequence))
      return false; // several tokens are sampled from one row
    if (!searchOf.empty() && searchOf.contains(row.sequence))
      return false; // a search needs log-probabilities
    const Answer &answer = *answers.at(row.sequence);
    const SamplingParams &params = answer.sampling();
    sampling.push_back(rowSampling(params));
    if (answer.pooled() || answer.constrained() || answer.wantsPrompt() || answer.promptOnly() ||
        answer.editsLogits() || !params.drawnFromLogits() || !executor->draws(sampling.back()))
      return false;
  }
  assert(sampling.size() == scheduler->rows().size() && "each row has its parameters");
  return !sampling.empty() || executor->draws({});
}

const float *Session::Impl::drawnFrom(const float *row, const Answer &answer) {
  if (!answer.editsLogits())
    return row;
  assert(int64_t(editedRow.size()) == limits.vocab && "submit() makes room for such requests");
  std::copy_n(row, editedRow.size(), editedRow.begin());
  answer.editLogits(editedRow);
  return editedRow.data();
}

Answer *Session::Impl::answerOf(const Scheduler::Row &row) {
  auto found = answers.find(row.sequence);
  return found == answers.end() || found->second->finished() ? nullptr : found->second.get();
}

/// Handles a row of the prompt, which gives the probability of the next token.
void Session::Impl::scoreRow(const Scheduler::Row &row, Answer &answer, int64_t index) {
  const float *maxima =
      executor->maxima() ? executor->maxima() + index * executor->maximaStride() : nullptr;
  if (answer.wantsScore(row.position))
    answer.addScore(sampler->score(executor->logits() + index * executor->logitsStride(),
                                   answer.promptId(row.position + 1), answer.promptTop(), maxima));
}

/// Ends the answers of a request that samples no tokens.
void Session::Impl::endPrompt(const Scheduler::Row &row) {
  if (auto others = choicesOf.extract(row.sequence))
    for (RequestId other : others.mapped())
      if (Answer &one = *answers.at(other); !one.finished())
        one.end(FinishReason::Length);
  answers.at(row.sequence)->end(FinishReason::Length);
  scheduler->finish(row.sequence);
}

/// Samples a token from a row. All choices of a request sample from its first row.
void Session::Impl::drawRow(const Scheduler::Row &row, int64_t index) {
  const float *logits = executor->logits() + index * executor->logitsStride();
  const float *maxima =
      executor->maxima() ? executor->maxima() + index * executor->maximaStride() : nullptr;
  auto draw = [&](Answer &answer) { // returns -1 if the answer has ended
    auto allowed = answer.allowed();
    if (!allowed)
      return -1;
    const float *drawn = drawnFrom(logits, answer);
    Sampler::Choice choice =
        sampler->choose(drawn, answer.sampling(), answer.history(), uint64_t(row.position) + 1,
                        drawn == logits ? maxima : nullptr, *allowed); // the maxima do not match an
                                                                       // edited row
    return answer.take(choice.id, choice.logprobs) ? choice.id : -1;
  };
  if (auto others = choicesOf.find(row.sequence); others != choicesOf.end()) {
    for (RequestId other : others->second) {
      Answer &answer = *answers.at(other);
      int32_t id = answer.finished() ? -1 : draw(answer);
      if (id < 0)
        continue;
      answer.scheduled = true;
      scheduler->fork(row.sequence, other);
      scheduler->append(other, id);
    }
    choicesOf.erase(others);
  }
  int32_t id = draw(*answers.at(row.sequence));
  if (id >= 0)
    scheduler->append(row.sequence, id);
  else
    scheduler->finish(row.sequence);
}

void Session::Impl::cancel(RequestId id, Answer &answer) {
  assert(!answer.finished() && "its sequence has ended with it");
  answer.cancel();
  if (answer.scheduled)
    scheduler->finish(id);
  answer.scheduled = false;
  if (auto others = choicesOf.extract(id))
    for (RequestId other : others.mapped()) // they have the same flag or the same failure
      if (Answer &one = *answers.at(other); !one.finished())
        cancel(other, one);
}

/// Ends the requests that have their flag set. The answers of one request share one flag and must end together, because
/// a choice that waits for the first one, or an answer of a search, cannot be removed by itself. The flag may be set
/// between two reads of it, so the flags that are set are collected first.
void Session::Impl::endCancelled() {
  setFlags.clear();
  for (auto &[id, answer] : answers)
    if (!answer->finished() && answer->cancelled())
      setFlags.push_back(answer->cancelFlag());
  if (setFlags.empty())
    return;
  std::ranges::sort(setFlags);
  for (auto &[id, answer] : answers)
    if (!answer->finished() && std::ranges::binary_search(setFlags, answer->cancelFlag()))
      cancel(id, *answer);
  endSearches();
}

void Session::Impl::endSearches() {
  std::erase_if(searches, [](const std::unique_ptr<Search> &search) {
    if (!search->over())
      return false;
    search->release();
    return true;
  });
}

void Session::Impl::startSearch(SequenceId first, Request request, int64_t maxTokens,
                                std::shared_ptr<const void> reserved, std::vector<Answer *> found) {
  if (!ranking)
    ranking.emplace(limits.vocab);
  const Search::Surroundings around{*scheduler, *executor, *ranking,
                                    searchOf,   eos,       tokenizer.get()};
  if (request.beams)
    searches.push_back(std::make_unique<BeamSearch>(around, first, std::move(found),
                                                    std::move(request), maxTokens));
  else
    searches.push_back(std::make_unique<ContrastiveSearch>(
        around, first, found.front(), std::move(request), maxTokens, std::move(reserved)));
}

void Session::Impl::poolRow(const Scheduler::Row &row, Answer &answer, int64_t index) {
  assert(executor->hiddenSize() > 0 && "validate() refuses such requests");
  hidden.resize(size_t(executor->hiddenSize()));
  executor->hiddenState(index, hidden.data());
  if (!answer.pool(hidden, row.position))
    scheduler->finish(row.sequence);
}

void Session::Impl::takeRows() {
  const auto rows = scheduler->rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    const Scheduler::Row &row = rows[i];
    if (auto search = searchOf.find(row.sequence); search != searchOf.end())
      search->second->takeRow(row, int64_t(i));
    else if (Answer &answer = *answers.at(row.sequence); answer.pooled())
      poolRow(row, answer, int64_t(i));
    else if (answer.wantsPrompt() && row.position + 1 < answer.promptSize())
      scoreRow(row, answer, int64_t(i));
    else {
      answer.reportPrompt();
      answer.promptOnly() ? endPrompt(row) : drawRow(row, int64_t(i));
    }
  }
  endSearches();
}

} // namespace ingot::runtime
