//===- IdRules.h - Restrictions on the ids of an answer --------------------===//
//
// A request may have rules about tokens in addition to a grammar: a set of allowed tokens, forbidden words, and a
// minimum number of tokens before the end. Like a grammar (text/Grammar.h), the rules yield a bit for each token of the
// vocabulary. A token may be sampled only if the bit of the rules and the bit of the grammar are set.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::runtime {

struct IdRules {
  std::vector<int32_t> allowed; ///< the only tokens that may be sampled; empty: all
  std::vector<std::vector<int32_t>>
      forbidden;         ///< words as lists of token ids; the last token of a word
                         ///< never follows the others; no word is empty
  int64_t minTokens = 0; ///< minimum number of tokens before a token that ends the
                         ///< answer

  bool any() const { return !allowed.empty() || !forbidden.empty() || minTokens > 0; }
};

/// Returns E0575: the word at `index` among `count` forbidden ones has no tokens.
Error emptyWord(size_t index, size_t count);

/// Computes the mask of tokens that may come next, for one row of logits at a time.
class IdMask {
public:
  /// `ends`: tokens that end the answer.
  IdMask(IdRules rules, std::vector<int32_t> ends, int64_t vocab);

  /// Returns a bit for each token, set if the token may follow `answer`; empty if none may. `grammar`: the grammar's
  /// bits, or empty. The result is valid until the next call.
  std::span<const uint32_t> after(std::span<const int32_t> answer,
                                  std::span<const uint32_t> grammar);

  int64_t minTokens() const { return rules.minTokens; }

private:
  IdRules rules;
  std::vector<int32_t> ends;
  std::vector<uint32_t> fixed, now;
};

} // namespace ingot::runtime
