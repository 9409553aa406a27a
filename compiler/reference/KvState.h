//===- KvState.h - The interpreter's state of sequences --------------------===//
//
//   slot (a state's number) ── sequence ── position ── k row, v row     (paged)
//                                      └── position ── all its values   (fixed)
//
// Rows are rounded to the cache's type when they are appended, so all readers see the same values. In lm, a state is an
// SSA value, so an op that reads the value before an append must not see the appended rows. A value of a paged state
// therefore records the length of each sequence at the time when the value was made, and excludes later rows. A fixed
// state is replaced by each token, so its SSA value holds the elements themselves.
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

  /// Stores k and v of one position. Positions of a sequence come in order. If a position is stored again, all later
  /// positions are forgotten. A gap before the first appended row is filled with a generated past if there is one.
  /// kvHeads divides the width of k and v.
  void append(int64_t slot, int64_t sequence, int64_t position, std::span<const float> k,
              std::span<const float> v, int64_t kvHeads = 1);

  const Rows *find(int64_t slot, int64_t sequence) const;

  /// Returns the fixed state of a sequence after the tokens before `position`, as `size` values. At position 0 they are
  /// zeros. Inside a generated past, they are generated from the seed. Otherwise they are the stored state.
  std::vector<float> fixedAt(int64_t slot, int64_t sequence, int64_t position, size_t size) const;
  /// Stores the state after the tokens before `position`. States of later positions are forgotten.
  void keepFixed(int64_t slot, int64_t sequence, int64_t position, std::vector<float> values);

  /// Fills positions below `length` of a sequence with values generated from the seed, as if a prompt had been
  /// computed. Windows and long contexts can then be checked without computing a prompt.
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
