//===- KvState.h - What the interpreter keeps of sequences -----------------===//
//
//   slot (a state's number) ── sequence ── position ── k row, v row     (paged)
//                                      └── position ── all its values   (fixed)
//
// Rows are rounded to the cache's type when they are appended, so that everybody who
// reads them reads the same numbers (design.md part 5). A state is a value in lm: a step that
// reads one before its append must not see the append. So a value of a paged state carries how
// long each sequence was when it was made, and rows beyond that are not its own. Of a fixed
// state, which each token replaces, a value carries the numbers themselves.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Matrix.h"
#include "runtime/formats/KvFormat.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ingot::reference {

class KvState {
public:
  explicit KvState(KvFormat format = KvFormat::F32) : format(format) {}

  struct Rows {
    std::vector<float> k, v; ///< [length][kv_heads * head_dim]
    int64_t length = 0;
  };

  /// Stores k and v of one position. Positions of a sequence come in order, or over again
  /// (then all behind it is forgotten). A gap before the first row that was ever appended
  /// is filled with a made-up past if there is one. kvHeads divides the width of k and v.
  void append(int64_t slot, int64_t sequence, int64_t position, std::span<const float> k,
              std::span<const float> v, int64_t kvHeads = 1);

  const Rows *find(int64_t slot, int64_t sequence) const;

  /// The fixed state of a sequence behind the tokens before `position`, `size` values: zeros at 0;
  /// what was kept there; numbers made of the seed inside a made-up past.
  std::vector<float> fixedAt(int64_t slot, int64_t sequence, int64_t position, size_t size) const;
  /// Keeps the one behind the tokens before `position`. Those of later positions are forgotten.
  void keepFixed(int64_t slot, int64_t sequence, int64_t position, std::vector<float> values);

  /// Positions below `length` of a sequence hold numbers made of the seed, as if a prompt had
  /// been there: windows and long contexts can be checked without computing one.
  void pretendPast(int64_t sequence, int64_t length, uint64_t seed);

  void forget(int64_t sequence);

private:
  KvFormat format;
  struct Past {
    int64_t length;
    uint64_t seed;
  };
  std::map<std::pair<int64_t, int64_t>, Rows> rows;
  std::map<std::pair<int64_t, int64_t>, std::map<int64_t, std::vector<float>>> fixed;
  std::map<int64_t, Past> pasts;
};

} // namespace ingot::reference
