//===- Search.h - Sequences that are searched together ---------------------===//
//
// A plain answer draws its next id from its own row. A search has several sequences; once the rows
// of all of them are there, it decides which sequences continue, with which ids, and how often:
//
//   rows of a step --takeRow()--> [ likeliest ids of each ] --all there--> decide()
//                                                                            |
//        finish: it does not continue      fork: it continues several times <- goOn()
//                                                                            |
//                                           ids of an answer -> Answer  <- deliver()
//
// Sequences share the pages of their common prefix (Scheduler::fork). Rows may come in different
// steps, since a sequence may have been preempted; decisions do not depend on it. The session
// (SessionRows.cpp) passes the rows in, and checks whether all answers have ended.
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
  /// The context of a search; all of it outlives the search.
  struct Surroundings {
    Scheduler &scheduler;
    const Executor &executor;
    RowRanking &ranking;
    std::unordered_map<SequenceId, Search *> &owners; ///< search of each sequence
    std::span<const int32_t> eos;
    const text::Tokenizer *tokenizer; ///< may be null
  };

  virtual ~Search() = default;
  Search(const Search &) = delete;
  Search &operator=(const Search &) = delete;

  /// Called when its first sequence takes part in a step.
  void start(int64_t cachedTokens);
  /// Takes the `index`-th row of the last step, which belongs to one of its sequences.
  void takeRow(const Scheduler::Row &row, int64_t index);
  /// Whether all answers have ended.
  bool over() const;
  /// Ends its remaining sequences.
  void release();

protected:
  /// `first`: its only sequence so far, with the request's prompt. `answers`: best first; they
  /// outlive the search. `maxTokens`: of each answer.
  Search(const Surroundings &around, SequenceId first, std::vector<Answer *> answers,
         Request request, int64_t maxTokens);

  struct Member {
    SequenceId sequence;
    std::unique_ptr<Hypothesis> hypothesis;
    double score; ///< its meaning depends on the search
    bool ready = false;
    std::vector<RowRanking::Candidate> next; ///< from its row, likeliest first; empty if it has
                                             ///< ended
    std::vector<TokenLogprob> likeliest;     ///< from its row, as many as were requested
    std::vector<float> state = {};           ///< of its last token, if hidden states are needed
  };
  /// A sequence that continues with one more id, which `said` has already taken.
  struct Next {
    size_t parent; ///< index into `live`
    int32_t id;
    std::unique_ptr<Hypothesis> hypothesis;
    double score;
  };

  /// Called when the rows of all live members are there; calls goOn(), or deliver() and release().
  virtual void decide() = 0;
  /// Number of ids that are needed from a row.
  virtual size_t wanted() const = 0;
  /// Called for each row: of a prompt token other than the last (`member` is null), or of a member.
  virtual void sawRow(Member *, int64_t /*index*/) {}

  /// The member's hypothesis with one more id; null if that failed, in which case everything has
  /// ended.
  std::unique_ptr<Hypothesis> extended(const Member &member,
                                       const RowRanking::Candidate &candidate);
  void goOn(std::vector<Next> next);
  /// Passes the ids of a hypothesis, starting at index `first`, to an answer, which continues unless they
  /// end it.
  static void deliver(const Hypothesis &hypothesis, size_t first, Answer &answer);
  /// Ends everything with that error.
  void fail(const Error &error);

  Surroundings around;
  const Request request;
  const int64_t maxTokens;
  std::vector<Answer *> answers;
  std::vector<Member> live;

private:
  void rank(Member &member, int64_t index);

  int64_t prompt;            ///< number of tokens
  std::vector<float> edited; ///< [vocab] if a hook changes rows
};

} // namespace ingot::runtime
