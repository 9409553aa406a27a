//===- Search.h - Sequences that choose together ---------------------------===//
//
// A plain answer draws its next id from its own row. A search has several sequences, and decides
// when the rows of all are there which of them go on, with which ids, and how often:
//
//   rows of a step --takeRow()--> [ likeliest ids of each ] --all there--> decide()
//                                                                            |
//        finish: nobody goes on from it    fork: more than one does     <- goOn()
//                                                                            |
//                                           ids of an answer -> Answer  <- deliver()
//
// Sequences share the pages of what they have in common (Scheduler::fork). Rows may come in
// different steps, since a sequence may have been preempted; what is decided does not depend on it.
// The session's (SessionRows.cpp) is to hand rows in, and to notice when all answers have ended.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Executor.h"
#include "runtime/schedule/Scheduler.h"
#include "runtime/session/Answer.h"
#include "runtime/session/search/Hypothesis.h"
#include "runtime/session/search/RowRanking.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace ingot::runtime {

class Search {
public:
  /// What a search works with, all of which outlives it.
  struct Surroundings {
    Scheduler &scheduler;
    const Executor &executor;
    RowRanking &ranking;
    std::unordered_map<SequenceId, Search *> &owners; ///< of sequences
    std::span<const int32_t> eos;
    const text::Tokenizer *tokenizer; ///< may be null
  };

  virtual ~Search() = default;
  Search(const Search &) = delete;
  Search &operator=(const Search &) = delete;

  /// Its first sequence takes part in a step.
  void start(int64_t cachedTokens);
  /// Takes the `index`-th row of the last step, which is for a sequence of its own.
  void takeRow(const Scheduler::Row &row, int64_t index);
  /// Whether all answers have ended.
  bool over() const;
  /// Ends what is left of its sequences.
  void release();

protected:
  /// `first`: its sequence so far, of the request's prompt. `answers`: best first, which outlive
  /// it. `maxTokens`: of each.
  Search(const Surroundings &around, SequenceId first, std::vector<Answer *> answers,
         Request request, int64_t maxTokens);

  struct Member {
    SequenceId sequence;
    std::unique_ptr<Hypothesis> said;
    double score; ///< as the search has it
    bool ready = false;
    std::vector<RowRanking::Candidate> next; ///< of its row, likeliest first; none if it has ended
    std::vector<TokenLogprob> likeliest;     ///< of its row, as many as were asked for
    std::vector<float> state = {};           ///< of its last token, where hidden states are wanted
  };
  /// A sequence that goes on with one more id, already taken by `said`.
  struct Next {
    size_t parent; ///< index into `live`
    int32_t id;
    std::unique_ptr<Hypothesis> said;
    double score;
  };

  /// Rows of all that live are there: goOn(), or deliver() and release().
  virtual void decide() = 0;
  /// Ids that a row is asked for.
  virtual size_t wanted() const = 0;
  /// A row came: of a token of the prompt but its last (`member` is null), or of a member.
  virtual void sawRow(Member *, int64_t /*index*/) {}

  /// The member's hypothesis with one more id; null: it failed, and all has ended.
  std::unique_ptr<Hypothesis> extended(const Member &member,
                                       const RowRanking::Candidate &candidate);
  void goOn(std::vector<Next> next);
  /// Gives the ids of a hypothesis from `first` on to an answer. Where they do not end it, it goes
  /// on.
  static void deliver(const Hypothesis &said, size_t first, Answer &answer);
  /// Everything ends for that reason.
  void fail(const Error &error);

  Surroundings around;
  const Request request;
  const int64_t maxTokens;
  std::vector<Answer *> answers;
  std::vector<Member> live;

private:
  void rank(Member &member, int64_t index);

  int64_t prompt;            ///< tokens
  std::vector<float> edited; ///< [vocab] where a hook changes rows
};

} // namespace ingot::runtime
