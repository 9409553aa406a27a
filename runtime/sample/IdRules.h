//===- IdRules.h - Ids that an answer may and may not have -----------------===//
//
// Besides what a grammar says: only these ids, none of those words, no end before so many ids. The
// rules become a bit for each id, as a grammar's do (text/Grammar.h), and both must agree.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::runtime {

struct IdRules {
  std::vector<int32_t> allowed;                ///< the only ids that may be drawn; empty: all
  std::vector<std::vector<int32_t>> forbidden; ///< words, as ids: their last never follows the rest
  int64_t minTokens = 0;                       ///< ids before one of those that end an answer

  bool any() const { return !allowed.empty() || !forbidden.empty() || minTokens > 0; }
};

/// Works the rules out, row by row.
class IdMask {
public:
  /// `ends`: ids that end the answer.
  IdMask(IdRules rules, std::vector<int32_t> ends, int64_t vocab);

  /// A bit for each id that may follow `answer`. `grammar`: its bits, or empty. Empty: none may.
  /// Stays until the next call.
  std::span<const uint32_t> after(std::span<const int32_t> answer,
                                  std::span<const uint32_t> grammar);

  int64_t minTokens() const { return rules.minTokens; }

private:
  IdRules rules;
  std::vector<int32_t> ends;
  std::vector<uint32_t> fixed, now;
};

} // namespace ingot::runtime
