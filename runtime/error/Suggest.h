//===- Suggest.h - "did you mean …?" ---------------------------------------===//
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Levenshtein distance, one row at a time.
inline size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] != b[j])});
      diagonal = above;
    }
  }
  return row.back();
}

/// Returns the candidate nearest to `typed` if it is close enough to be what the user meant: up to
/// three edits for a long word, one for a short one. Empty otherwise.
inline std::string nearest(std::string_view typed, const std::vector<std::string> &candidates) {
  std::string best;
  size_t distance = typed.size() < 3 ? 2 : typed.size() < 9 ? 3 : 4;
  for (const std::string &candidate : candidates)
    if (size_t d = editDistance(typed, candidate); d < distance) {
      distance = d;
      best = candidate;
    }
  return best;
}

/// Returns "did you mean X?", or `otherwise` if no candidate is near.
inline std::string didYouMean(std::string_view typed, const std::vector<std::string> &candidates,
                              std::string otherwise = "") {
  const std::string near = nearest(typed, candidates);
  return near.empty() ? otherwise : "did you mean " + near + "?";
}

} // namespace ingot
