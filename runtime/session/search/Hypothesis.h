//===- Hypothesis.h - What one sequence of a search has said so far --------===//
//
// Its ids, and as much of an answer's rules as is needed to know whether the next one ends it: stop
// ids, stop strings across token borders, a grammar. It is copied where a search goes on with an id
// in two ways. The text that users see is the answer's (Answer.h), made of the ids that were
// chosen.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/session/Session.h"
#include "runtime/text/Grammar.h"
#include "runtime/text/Text.h"

#include <optional>

namespace ingot::runtime {

class Hypothesis {
public:
  /// Nothing said yet. `eos` are the engine's; `tokenizer` may be null.
  Hypothesis(const Request &request, std::span<const int32_t> eos,
             const text::Tokenizer *tokenizer);
  Hypothesis(const Hypothesis &other);
  Hypothesis &operator=(const Hypothesis &) = delete;

  std::span<const int32_t> ids() const { return said; }
  /// Ids that end it.
  size_t stopIds() const { return ends.size(); }
  /// The ids that may come next; empty: all. E0623: the grammar has given up.
  Result<std::span<const uint32_t>> allowed();
  /// Takes an id with its log-probabilities: the chosen one, then the likeliest, or none; as many
  /// each time. True: it ends the answer. E0623.
  Result<bool> take(int32_t id, std::span<const TokenLogprob> logprobs);
  bool ended() const { return over; }
  /// Of the index-th id.
  std::span<const TokenLogprob> logprobs(size_t index) const;

private:
  std::vector<int32_t> ends;
  std::optional<text::StreamDecoder> decoder; ///< where there are stop strings
  std::optional<text::StopMatcher> stops;
  std::shared_ptr<const text::ChatReading> reading; ///< where it may end the answer
  std::optional<text::ChatOutputParser> chat;
  std::string text; ///< that `chat` has read
  std::optional<text::Constraint> constraint;
  std::vector<int32_t> said;
  size_t perId = 0; ///< log-probabilities, as many for each
  std::vector<TokenLogprob> likely;
  bool over = false;
};

} // namespace ingot::runtime
