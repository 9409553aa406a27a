//===- RowRules.h - Tokens that may not be sampled next --------------------===//
//
// Bad words, a minimum length and a ban on repeated n-grams each exclude some tokens from being sampled next. They are
// implemented as edits of a row of logits (runtime::Request::onLogits), so samplers need no support for them.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::embed {

struct RowRules {
  std::vector<int32_t> prompt;                ///< bad words and n-grams may begin in the prompt
  std::vector<std::vector<int32_t>> badWords; ///< none is empty
  int64_t minTokens = 0;
  std::vector<int32_t>
      endIds; ///< tokens that may not be sampled before there are minTokens new tokens
  int32_t noRepeatNgram = 0; ///< 0: off

  bool any() const { return !badWords.empty() || minTokens > 0 || noRepeatNgram > 0; }
  /// Sets the logits of tokens that may not follow the prompt and `ids` to -inf. Ignores tokens outside
  /// the row.
  void apply(std::span<const int32_t> ids, std::span<float> logits) const;
};

} // namespace ingot::embed
