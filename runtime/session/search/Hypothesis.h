//===- Hypothesis.h - The ids of one sequence of a search so far -----------===//
//
// A hypothesis has its ids, and as much of an answer's rules as is needed to decide whether the
// next id ends it: stop ids, stop strings across token borders, a grammar. It is copied when a
// search continues it with several ids. The text that users see is that of the answer (Answer.h),
// built from the chosen ids.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/session/Session.h"
#include "runtime/text/Grammar.h"
#include "runtime/text/Text.h"

#include <optional>

namespace ingot::runtime {

class Hypothesis {
public:
  /// An empty hypothesis. `eos`: the engine's eos ids; `tokenizer` may be null.
  Hypothesis(const Request &request, std::span<const int32_t> eos,
             const text::Tokenizer *tokenizer);
  Hypothesis(const Hypothesis &other);
  Hypothesis &operator=(const Hypothesis &) = delete;

  std::span<const int32_t> ids() const { return generated; }
  /// Number of ids that end it.
  size_t stopIds() const { return ends.size(); }
  /// The ids that may come next; empty: all. E0623: the grammar has failed.
  Result<std::span<const uint32_t>> allowed();
  /// Takes an id with its log-probabilities: the chosen one's, then the likeliest, or none; the
  /// same number each time. Returns true if the id ends the answer. E0623.
  Result<bool> take(int32_t id, std::span<const TokenLogprob> logprobs);
  bool ended() const { return over; }
  /// Log-probabilities of the index-th id.
  std::span<const TokenLogprob> logprobs(size_t index) const;

private:
  std::vector<int32_t> ends;
  std::optional<text::StreamDecoder> decoder; ///< if there are stop strings
  std::optional<text::StopMatcher> stops;
  std::shared_ptr<const text::ChatReading> reading; ///< if the reading may end the answer
  std::optional<text::ChatOutputParser> chat;
  std::string text; ///< the text that `chat` has read
  std::optional<text::Constraint> constraint;
  std::vector<int32_t> generated;
  size_t perId = 0; ///< number of log-probabilities per id
  std::vector<TokenLogprob> likely;
  bool over = false;
};

} // namespace ingot::runtime
