//===- RowSource.h - A weight's rows, wherever they are stored -------------===//
//
// The one place that resolves a reference (RowOrder.h) to rows. Packers, the plan interpreter, the finiteness
// check of scales and dequantisation all read through it, so they need not know that a weight is part of a
// packed tensor. There are two ways to read, because a quantised row keeps its codes:
//
//   stored(first, …)   rows as they are stored, to be copied
//   read(first, out)   the same rows as f32
//
// Callers read blocks of 32 rows or so: rows of a quantised matrix may be made anew for each call
// (BlockMaker), so that a whole matrix never resides in memory.
//
// Transposed tensors, which must be floats, support only `read`; `at` then returns the column in place of the
// row. A transposed vector is one row. Weights that are multiplied by factors also support only `read`, in
// f32.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"
#include "runtime/formats/RowOrder.h"

#include <functional>
#include <memory>

namespace ingot::import {

/// The unit that a reference counts: the rows of a tensor or, if the weight is a vector, the numbers of a
/// tensor of any shape, in stored order (this is how the taps of a convolution [channels][taps] become
/// [taps][channels]).
enum class Unit { Rows, Numbers };

/// A row in the file: `index` counts as in tensorRow.
struct StoredRow {
  const Tensor *tensor;
  int64_t index;
};

class RowSource {
public:
  /// All rows of a tensor, which must outlive the source.
  RowSource(const Tensor &tensor);
  /// The rows of a weight, which the checkpoint must hold in one format and one width (E0852 otherwise), with
  /// as many factors as the parts require. A vector's numbers are rows of one column. The checkpoint must
  /// outlive the source.
  static Result<RowSource> find(const Checkpoint &checkpoint, std::span<const TensorRows> parts,
                                Unit unit = Unit::Rows);

  /// The format in which rows are stored; f32 if they are multiplied by factors.
  WeightFormat format() const { return scaled ? WeightFormat::F32 : parts.front().tensor->format; }
  int64_t rows() const { return total; }
  int64_t columns() const { return width; }

  StoredRow at(int64_t n) const;
  /// Calls `call` for rows `first`, first + 1, … as they are stored, with the row's number (0 to count - 1),
  /// its place, and its bytes, which are valid only during the call. Not for a transposed tensor.
  void
  stored(int64_t first, int64_t count,
         const std::function<void(int64_t, StoredRow, std::span<const std::byte>)> &call) const;
  /// Reads rows `first`, first + 1, … as f32: as many as fill `out`.
  Result<void> read(int64_t first, std::span<float> out) const;
  /// Like checkFinite of a tensor, but only for these rows, or for the whole of a transposed tensor.
  Result<void> checkFinite() const;

private:
  struct Part {
    const Tensor *tensor;
    RowOrder order;
    int64_t rows;  ///< of this part
    int64_t stack; ///< rows of the tensor before this matrix
    int64_t limit; ///< rows of the matrix, or its columns if it is transposed
    bool transposed = false;
    std::shared_ptr<const std::vector<float>> columnFactors = nullptr, rowFactors = nullptr;
    int64_t firstFactor = 0; ///< the first row that has factors in rowFactors
  };
  RowSource() = default;
  Result<void> add(const Tensor &tensor, const TensorRows &rows);
  /// Adds the factors of the part that was added last.
  Result<void> addFactors(const Checkpoint &checkpoint, const TensorRows &rows);
  static Result<void> readPart(const Part &part, int64_t row, int64_t count, int64_t width,
                               std::span<float> out);
  /// Calls `call` for each run of consecutive rows of a tensor: (its part, its first row, number of rows).
  template <typename F> Result<void> forEachRun(int64_t first, int64_t count, F call) const;

  std::vector<Part> parts;
  std::vector<std::shared_ptr<const Tensor>>
      flat; ///< reshaped tensors: flattened, or vectors as a column
  int64_t total = 0, width = 0;
  bool scaled = false; ///< whether a part has factors
};

/// Whether two tensors have the same stored rows.
bool sameRows(const Tensor &a, const Tensor &b);

/// Number of rows of a tensor, as references count them: the numbers of a vector, otherwise the product of
/// all dimensions but the last.
int64_t rowsOf(const Tensor &tensor, Unit unit = Unit::Rows);

} // namespace ingot::import
