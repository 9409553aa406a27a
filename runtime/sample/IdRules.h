//===- IdRules.h - Restrictions on the ids of an answer --------------------===//
//
// A request may have rules about ids in addition to a grammar: a set of allowed ids, forbidden words, and a minimum
// number of ids before the end. Like a grammar (text/Grammar.h), the rules yield a bit for each id. An id may be
// drawn only if both bits are set.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::runtime {

struct IdRules {
  std::vector<int32_t> allowed;                ///< the only ids that may be drawn; empty: all
  std::vector<std::vector<int32_t>> forbidden; ///< words as lists of ids; the last id of a word
                                               ///< never follows the others; no word is empty
  int64_t minTokens = 0;                       ///< minimum number of ids before an id that ends the
                                               ///< answer

  bool any() const { return !allowed.empty() || !forbidden.empty() || minTokens > 0; }
};

/// Returns E0575: the word at `index` among `count` forbidden ones has no ids.
Error emptyWord(size_t index, size_t count);

/// Computes the mask of ids that may come next, for one row of logits at a time.
class IdMask {
public:
  /// `ends`: ids that end the answer.
  IdMask(IdRules rules, std::vector<int32_t> ends, int64_t vocab);

  /// Returns a bit for each id, set if the id may follow `answer`; empty if none may. `grammar`: the grammar's
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
