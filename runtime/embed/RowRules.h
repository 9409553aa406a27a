//===- RowRules.h - Ids that may not come next -----------------------------===//
//
// Bad words, a least length and no repeated n-grams say of some ids that they may not come next. No
// sampler needs to know them: they are edits of a row of logits (runtime::Request::onLogits).
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::embed {

struct RowRules {
  std::vector<int32_t> prompt;                ///< sequences count across the end of the prompt
  std::vector<std::vector<int32_t>> badWords; ///< none empty
  int64_t minTokens = 0;
  std::vector<int32_t> endIds; ///< that may not come before minTokens new ids
  int32_t noRepeatNgram = 0;   ///< 0: off

  bool any() const { return !badWords.empty() || minTokens > 0 || noRepeatNgram > 0; }
  /// Sets what may not follow the prompt and `ids` to -inf. Ids outside the row are passed over.
  void apply(std::span<const int32_t> ids, std::span<float> logits) const;
};

} // namespace ingot::embed
