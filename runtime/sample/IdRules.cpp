//===- IdRules.cpp - Bit masks of the ids that may come next ----------------===//
#include "runtime/sample/IdRules.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

namespace {
uint32_t bitOf(int32_t id) { return uint32_t{1} << (uint32_t(id) % 32); }
void clear(std::vector<uint32_t> &bits, int32_t id) {
  if (id >= 0 && size_t(id) / 32 < bits.size())
    bits[size_t(id) / 32] &= ~bitOf(id);
}
} // namespace

Error emptyWord(size_t index, size_t count) {
  return {ExitCode::Usage, "E0575", "a bad word is empty",
          "number " + std::to_string(index) + " of " + std::to_string(count) + " has no ids",
          "remove it"};
}

IdMask::IdMask(IdRules given, std::vector<int32_t> ending, int64_t vocab)
    : rules(std::move(given)), ends(std::move(ending)), fixed(size_t(vocab + 31) / 32, 0),
      now(fixed.size()) {
  if (!rules.allowed.empty()) {
    for (int32_t id : rules.allowed) {
      assert(id >= 0 && id < vocab && "the session refuses other ids");
      fixed[size_t(id) / 32] |= bitOf(id);
    }
    return;
  }
  std::ranges::fill(fixed, ~uint32_t{0});
  if (vocab % 32)
    fixed.back() = (uint32_t{1} << (vocab % 32)) - 1;
}

std::span<const uint32_t> IdMask::after(std::span<const int32_t> answer,
                                        std::span<const uint32_t> grammar) {
  now = fixed;
  for (size_t word = 0; word < grammar.size() && word < now.size(); ++word)
    now[word] &= grammar[word];
  if (int64_t(answer.size()) < rules.minTokens)
    for (int32_t id : ends)
      clear(now, id);
  for (const std::vector<int32_t> &word : rules.forbidden) {
    assert(!word.empty() && "the session refuses empty words");
    const size_t before = word.size() - 1;
    if (answer.size() >= before &&
        std::ranges::equal(answer.last(before), std::span(word).first(before)))
      clear(now, word.back());
  }
  if (std::ranges::all_of(now, [](uint32_t bits) { return bits == 0; }))
    return {};
  return now;
}

} // namespace ingot::runtime
