//===- RowRules.cpp - Bad words, minimum lengths, n-grams -------------------===//
#include "runtime/embed/RowRules.h"

#include <limits>

namespace ingot::embed {

void RowRules::apply(std::span<const int32_t> ids, std::span<float> logits) const {
  auto ban = [&](int32_t id) {
    if (size_t(id) < logits.size())
      logits[size_t(id)] = -std::numeric_limits<float>::infinity();
  };
  const size_t length = prompt.size() + ids.size();
  auto at = [&](size_t i) { return i < prompt.size() ? prompt[i] : ids[i - prompt.size()]; };

  if (int64_t(ids.size()) < minTokens)
    for (int32_t id : endIds)
      ban(id);

  for (const auto &word : badWords) {
    const size_t before = word.size() - 1;
    if (before > length)
      continue;
    bool follows = true;
    for (size_t i = 0; i < before && follows; ++i)
      follows = at(length - before + i) == word[i];
    if (follows)
      ban(word.back());
  }

  if (noRepeatNgram > 0 && length + 1 >= size_t(noRepeatNgram)) {
    const size_t before =
        size_t(noRepeatNgram) - 1; // tokens before the token that completes an n-gram
    for (size_t start = 0; start + before < length; ++start) {
      bool same = true;
      for (size_t i = 0; i < before && same; ++i)
        same = at(start + i) == at(length - before + i);
      if (same)
        ban(at(start + before));
    }
  }
}

} // namespace ingot::embed
