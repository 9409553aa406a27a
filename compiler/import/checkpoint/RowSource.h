//===- RowSource.h - A weight's rows, wherever they are stored -------------===//
//
// Only this class resolves a reference (RowOrder.h) to rows. Packers, the plan interpreter, the finiteness check of
// scales and dequantisation all read through it, so their code does not depend on whether a weight is part of a larger
// tensor. There are two ways to read, because a packer copies the codes of a quantised row:
//
//   stored(first, …)   rows as they are stored, to be copied
//   read(first, out)   the same rows as f32
//
// Callers read blocks of about 32 rows. Rows of a quantised matrix may be made anew for each call (BlockMaker), so that
// a whole matrix is never in memory.
//
// Transposed tensors must be floats and support only `read`. For them, `at` returns the column instead of the row. A
// transposed vector is one row. Weights that are multiplied by factors also support only `read`, in f32.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"
#include "runtime/formats/RowOrder.h"

#include <functional>
#include <memory>

namespace ingot::import {

/// The unit that a reference counts. Normally these are the rows of a tensor. If the weight is a vector, these are the
/// elements of a tensor of any shape, in stored order. In this way, the taps of a convolution [channels][taps] become
/// [taps][channels].
enum class Unit { Rows, Numbers };

/// A row in the file. `index` is counted as in tensorRow.
struct StoredRow {
  const Tensor *tensor;
  int64_t index;
};

class RowSource {
public:
  /// All rows of a tensor, which must outlive the source.
  RowSource(const Tensor &tensor);
  /// Returns the rows of a weight. The checkpoint must have them in one format and one width, and must have as many
  /// factors as the parts require (E0852 otherwise). The elements of a vector are rows of one column. The checkpoint
  /// must outlive the source.
  static Result<RowSource> find(const Checkpoint &checkpoint, std::span<const TensorRows> parts,
                                Unit unit = Unit::Rows);

  /// Returns the format in which rows are stored; f32 if they are multiplied by factors.
  WeightFormat format() const { return scaled ? WeightFormat::F32 : parts.front().tensor->format; }
  int64_t rows() const { return total; }
  int64_t columns() const { return width; }

  StoredRow at(int64_t n) const;
  /// Calls `call` for rows `first`, first + 1, … as they are stored, with the row's number (0 to count - 1), its place,
  /// and its bytes, which are valid only during the call. Transposed tensors are not supported.
  void
  stored(int64_t first, int64_t count,
         const std::function<void(int64_t, StoredRow, std::span<const std::byte>)> &call) const;
  /// Reads rows `first`, first + 1, … as f32 until `out` is full.
  Result<void> read(int64_t first, std::span<float> out) const;
  /// Does the same as checkFinite of a tensor, but only for these rows. Transposed tensors are checked as a whole.
  Result<void> checkFinite() const;

private:
  struct Part {
    const Tensor *tensor;
    RowOrder order;
    int64_t rows;  ///< number of rows in this part
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

/// Returns whether two tensors have the same stored rows.
bool sameRows(const Tensor &a, const Tensor &b);

/// Returns the number of rows of a tensor, as references count them. For a vector this is the number of its elements.
/// Otherwise it is the product of all dimensions but the last.
int64_t rowsOf(const Tensor &tensor, Unit unit = Unit::Rows);

} // namespace ingot::import
