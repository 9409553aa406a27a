//===- RowOrder.h - Which rows of a tensor, in which order -----------------===//
//
// A weight is rows of a checkpoint's tensors. Some tensors hold several weights, in an order of
// their own; a row of K values is a row in any numeric format, so rows move and bytes stay:
//
//   query_key_value of GPT-NeoX, 3 heads of 2     q: first 0, 3 times every 6 rows, 2 times every row
//
//     0 q ◄ 0    6 q ◄ 2   12 q ◄ 4               n = 3 is digits (1, 1) of loops (3, 2):
//     1 q ◄ 1    7 q ◄ 3   13 q ◄ 5               row 0 + 1 * 6 + 1 * 1 = 7
//     2 k        8 k       14 k
//     3 k        9 k       15 k                   k: first 2, the same loops
//     4 v       10 v       16 v
//     5 v       11 v       17 v
//
// So an order is a start and loops of (count, stride), the outermost first: a layout of CuTe's, in one
// dimension. It covers ranges, heads, gate and up in turns (count rows every 2), and rope's permuted heads.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot {

struct RowOrder {
  struct Loop {
    int64_t count, stride = 1;
    bool operator==(const Loop &) const = default;
  };

  int64_t first = 0;
  std::vector<Loop> loops = {}; ///< outermost first; none: all rows from `first` on

  /// `count` rows that follow each other.
  static RowOrder range(int64_t first, int64_t count) { return {first, {{count}}}; }
  /// `size` rows of each of `heads` heads, which lie `stride` rows apart.
  static RowOrder ofHeads(int64_t first, int64_t heads, int64_t size, int64_t stride) {
    return {first, {{heads, stride}, {size}}};
  }

  bool isWhole() const { return first == 0 && loops.empty(); }
  /// How many there are, of a tensor of `available` rows where the loops do not say.
  int64_t count(int64_t available) const {
    int64_t rows = loops.empty() ? available - first : 1;
    for (const Loop &loop : loops)
      rows *= loop.count;
    return rows;
  }
  /// The tensor's row that comes n-th.
  int64_t at(int64_t n) const {
    if (loops.empty())
      return first + n;
    int64_t row = first;
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      row += n % loop->count * loop->stride;
      n /= loop->count;
    }
    return row;
  }
  /// From the n-th on, how many rows follow each other in the tensor as well.
  int64_t run(int64_t n, int64_t available) const {
    if (loops.empty())
      return available - first - n;
    return loops.back().stride == 1 ? loops.back().count - n % loops.back().count : 1;
  }
  /// The largest row of the tensor that it names, -1 if it names none.
  int64_t last(int64_t available) const { return at(count(available) - 1); }

  bool operator==(const RowOrder &) const = default;
};

/// Numbers that a weight is multiplied by: those of a vector of the checkpoint, each plus `offset` (of Gemma's norms 1).
struct Factors {
  std::string vector;
  float offset = 0;
  /// The tensor's row that the first number belongs to; of columns 0. Rows that are taken later keep their numbers.
  int64_t first = 0;

  bool operator==(const Factors &) const = default;
};

/// Rows of one tensor of a checkpoint. Of a stack [matrices][rows][columns] (experts), those of `matrix`.
/// A vector's numbers are rows of one column.
struct TensorRows {
  std::string tensor;
  int64_t matrix = -1; ///< of a stack; -1: all of them, one below the other, or the tensor is none
  RowOrder order = {};
  /// The rows of the weight are columns of the tensor, which `order` counts then: floats alone.
  bool transposed = false;
  /// What is multiplied when the rows are read, as f32: of floats alone.
  std::optional<Factors> columnFactors = {}, rowFactors = {};

  bool isScaled() const { return columnFactors || rowFactors; }
  bool operator==(const TensorRows &) const = default;
};

} // namespace ingot
