//===- RowOrder.h - Selection and order of a tensor's rows -----------------===//
//
// A weight consists of rows of a checkpoint's tensors. Some tensors hold several weights, in an order
// of their own. A row of K values is a unit in any numeric format, so rows move but their bytes do not
// change:
//
//   query_key_value of GPT-NeoX, 3 heads of 2     q: first row 0; loops (count, stride): (3, 6), (2, 1)
//
//     0 q ◄ 0    6 q ◄ 2   12 q ◄ 4               row n = 3 of q: indices (1, 1) in these loops,
//     1 q ◄ 1    7 q ◄ 3   13 q ◄ 5               so row 0 + 1 * 6 + 1 * 1 = 7 of the tensor
//     2 k        8 k       14 k
//     3 k        9 k       15 k                   k: first row 2; the same loops
//     4 v       10 v       16 v
//     5 v       11 v       17 v
//
// An order is therefore a start and loops of (count, stride), the outermost first: a one-dimensional CuTe
// layout. It covers ranges, heads, interleaved gate and up (count rows every 2), and rope's permuted heads.
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
  std::vector<Loop> loops = {}; ///< outermost first; none: all rows starting at `first`

  /// `count` consecutive rows.
  static RowOrder range(int64_t first, int64_t count) { return {first, {{count}}}; }
  /// `size` rows of each of `heads` heads, which are `stride` rows apart.
  static RowOrder ofHeads(int64_t first, int64_t heads, int64_t size, int64_t stride) {
    return {first, {{heads, stride}, {size}}};
  }

  bool isWhole() const { return first == 0 && loops.empty(); }
  /// Returns the number of rows. Without loops it depends on `available`, the rows of the tensor.
  int64_t count(int64_t available) const {
    int64_t rows = loops.empty() ? available - first : 1;
    for (const Loop &loop : loops)
      rows *= loop.count;
    return rows;
  }
  /// Returns the tensor's row at index n of the order.
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
  /// Returns how many rows starting at index n are also consecutive in the tensor.
  int64_t run(int64_t n, int64_t available) const {
    if (loops.empty())
      return available - first - n;
    return loops.back().stride == 1 ? loops.back().count - n % loops.back().count : 1;
  }
  /// Returns the largest row of the tensor in the order, -1 if the order is empty.
  int64_t last(int64_t available) const { return at(count(available) - 1); }

  bool operator==(const RowOrder &) const = default;
};

/// Factors of a weight's rows or columns: the elements of a vector of the checkpoint, each plus `offset` (1 for Gemma's
/// norms).
struct Factors {
  std::string vector;
  float offset = 0;
  /// The tensor's row that the first number belongs to; 0 for columns. Rows keep their factors when a part of
  /// them is selected later.
  int64_t first = 0;

  bool operator==(const Factors &) const = default;
};

/// Rows of one tensor of a checkpoint. For a stack [matrices][rows][columns] (experts), rows of `matrix`.
/// The elements of a vector are rows with one column.
struct TensorRows {
  std::string tensor;
  int64_t matrix = -1; ///< of a stack; -1: all matrices, one below another, or not a stack
  RowOrder order = {};
  /// The rows of the weight are columns of the tensor, and `order` refers to columns. Only for floats.
  bool transposed = false;
  /// Factors that are multiplied in, in f32, when the rows are read. Only for floats.
  std::optional<Factors> columnFactors = {}, rowFactors = {};

  bool isScaled() const { return columnFactors || rowFactors; }
  bool operator==(const TensorRows &) const = default;
};

} // namespace ingot
