//===- KvState.h - Keys and values that the interpreter has seen ----------===//
//
//   slot (a layer's) ── sequence ── position ── k row, v row
//
// Rows are rounded to the cache's type when they are appended, so that everybody who
// reads them reads the same numbers (design.md part 5). `!lm.kv` is a value: a step that
// reads the state before its append must not see the append. So a value carries how
// long each sequence was when it was made, and rows beyond that are not its own.
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
  std::map<int64_t, Past> pasts;
};

} // namespace ingot::reference
