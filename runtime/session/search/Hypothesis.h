//===- Hypothesis.h - The ids of one sequence of a search so far -----------===//
//
// A hypothesis has its ids, and those rules of an answer that decide whether the next id ends it: stop
// ids, stop strings across token borders, and a grammar. It is copied when a search continues it with
// several ids. Users get the text of the answer (Answer.h), which is built from the chosen ids.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/session/Session.h"
#include "runtime/text/Grammar.h"
#include "runtime/text/Text.h"

#include <optional>

namespace ingot::runtime {

class Hypothesis {
public:
  /// Creates an empty hypothesis. `eos`: the engine's eos ids; `tokenizer` may be null.
  Hypothesis(const Request &request, std::span<const int32_t> eos,
             const text::Tokenizer *tokenizer);
  Hypothesis(const Hypothesis &other);
  Hypothesis &operator=(const Hypothesis &) = delete;

  std::span<const int32_t> ids() const { return generated; }
  /// Returns the number of ids that end the hypothesis.
  size_t stopIds() const { return ends.size(); }
  /// Returns the ids that may come next; empty: all. Fails with E0623 if the grammar has failed.
  Result<std::span<const uint32_t>> allowed();
  /// Takes an id with log-probabilities: that of the id, then those of the likeliest ids, or none at all.
  /// Their number is the same in each call. Returns true if the id ends the answer. Fails with E0623 if
  /// the grammar has failed.
  Result<bool> take(int32_t id, std::span<const TokenLogprob> logprobs);
  bool ended() const { return over; }
  /// Returns the log-probabilities of the index-th id.
  std::span<const TokenLogprob> logprobs(size_t index) const;

private:
  std::vector<int32_t> ends;
  std::optional<text::StreamDecoder> decoder; ///< null unless `stops` or `chat` needs text
  std::optional<text::StopMatcher> stops;
  std::shared_ptr<const text::ChatReading> reading; ///< null unless it may end the answer
  std::optional<text::ChatOutputParser> chat;
  std::string text; ///< the text that `chat` has read
  std::optional<text::Constraint> constraint;
  std::vector<int32_t> generated;
  size_t perId = 0; ///< number of log-probabilities per id
  std::vector<TokenLogprob> likely;
  bool over = false;
};

} // namespace ingot::runtime
