//===- Search.h - Sequences that are searched together ---------------------===//
//
// A plain answer samples its next token from its own row. A search has several sequences. Once it has the rows of all
// of them, it decides which sequences continue, with which tokens, and how often:
//
//   rows of a step --takeRow()--> [ likeliest ids of each ] --all rows---> decide()
//                                                                            |
//        finish: it does not continue      fork: it continues several times <- goOn()
//                                                                            |
//                                           ids of an answer -> Answer  <- deliver()
//
// Sequences share the pages of their common prefix (Scheduler::fork). Rows may come in different
// steps, since a sequence may have been preempted; this does not change decisions. The session
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
  /// The objects that a search uses. All of them outlive the search.
  struct Surroundings {
    Scheduler &scheduler;
    const Executor &executor;
    RowRanking &ranking;
    std::unordered_map<SequenceId, Search *> &owners; ///< the search that owns each sequence
    std::span<const int32_t> eos;
    const text::Tokenizer *tokenizer; ///< may be null
  };

  virtual ~Search() = default;
  Search(const Search &) = delete;
  Search &operator=(const Search &) = delete;

  /// Called when the first sequence of the search takes part in a step for the first time.
  void start(int64_t cachedTokens);
  /// Takes the `index`-th row of the last step, which belongs to a sequence of this search.
  void takeRow(const Scheduler::Row &row, int64_t index);
  /// Returns whether all answers have ended.
  bool over() const;
  /// Ends the remaining sequences.
  void release();

protected:
  /// `first`: the only sequence so far, with the request's prompt. `answers`: they get the results, best
  /// first, and outlive the search. `maxTokens`: the limit of each answer.
  Search(const Surroundings &around, SequenceId first, std::vector<Answer *> answers,
         Request request, int64_t maxTokens);

  struct Member {
    SequenceId sequence;
    std::unique_ptr<Hypothesis> hypothesis;
    double score; ///< its meaning depends on the search
    bool ready = false;
    std::vector<RowRanking::Candidate>
        next;                            ///< tokens from its row, likeliest first; empty if it has
                                         ///< ended
    std::vector<TokenLogprob> likeliest; ///< tokens from its row, as many as were requested
    std::vector<float> state = {};       ///< hidden state of its last token, if needed
  };
  /// A sequence that continues with one more token. `hypothesis` has already taken the token.
  struct Next {
    size_t parent; ///< index into `live`
    int32_t id;
    std::unique_ptr<Hypothesis> hypothesis;
    double score;
  };

  /// Called when the rows of all live members have been taken. It calls goOn(), or deliver() and
  /// release().
  virtual void decide() = 0;
  /// Returns the number of likeliest tokens that are needed from a row.
  virtual size_t wanted() const = 0;
  /// Called for each row. The row belongs to a member or, if `member` is null, to a prompt token other
  /// than the last.
  virtual void sawRow(Member *, int64_t /*index*/) {}

  /// Returns the member's hypothesis with one more token. Returns null if that failed; the search and its
  /// answers have then ended.
  std::unique_ptr<Hypothesis> extended(const Member &member,
                                       const RowRanking::Candidate &candidate);
  void goOn(std::vector<Next> next);
  /// Passes the tokens of a hypothesis to an answer, starting at index `first`. The answer continues unless
  /// one of the tokens ends it.
  static void deliver(const Hypothesis &hypothesis, size_t first, Answer &answer);
  /// Ends all sequences and answers with that error.
  void fail(const Error &error);

  Surroundings around;
  const Request request;
  const int64_t maxTokens;
  std::vector<Answer *> answers;
  std::vector<Member> live;

private:
  void rank(Member &member, int64_t index);

  int64_t prompt;            ///< number of prompt tokens
  std::vector<float> edited; ///< [vocab] if a hook changes rows, otherwise empty
};

} // namespace ingot::runtime
