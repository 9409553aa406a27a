//===- Hypothesis.h - The ids of one sequence of a search so far -----------===//
//
// A hypothesis has its tokens, and those rules of an answer that decide whether the next token ends it: stop
// tokens, stop strings across token borders, and a grammar. It is copied when a search continues it with
// several tokens. Users get the text of the answer (Answer.h), which is built from the chosen tokens.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/session/Session.h"
#include "runtime/text/Grammar.h"
#include "runtime/text/Text.h"

#include <optional>

namespace ingot::runtime {

class Hypothesis {
public:
  /// Creates an empty hypothesis. `eos`: the engine's eos tokens; `tokenizer` may be null.
  Hypothesis(const Request &request, std::span<const int32_t> eos,
             const text::Tokenizer *tokenizer);
  Hypothesis(const Hypothesis &other);
  Hypothesis &operator=(const Hypothesis &) = delete;

  std::span<const int32_t> ids() const { return generated; }
  /// Returns the number of tokens that end the hypothesis.
  size_t stopIds() const { return ends.size(); }
  /// Returns the tokens that may come next; empty: all. Fails with E0623 if the grammar has failed.
  Result<std::span<const uint32_t>> allowed();
  /// Takes a token with its log-probabilities: first the token's own, then the log-probabilities of the likeliest
  /// tokens, or none at all. Every call must pass the same number of log-probabilities. Returns true if the token ends
  /// the answer. Fails with E0623 if the grammar has failed.
  Result<bool> take(int32_t id, std::span<const TokenLogprob> logprobs);
  bool ended() const { return over; }
  /// Returns the log-probabilities of the index-th token.
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
  size_t perId = 0; ///< number of log-probabilities per token
  std::vector<TokenLogprob> likely;
  bool over = false;
};

} // namespace ingot::runtime
