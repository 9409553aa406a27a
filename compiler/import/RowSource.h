//===- RowSource.h - A weight's rows, wherever the checkpoint has them -----===//
//
// The one place that turns a reference (RowOrder.h) into rows. Packers, the interpreter, the check
// of scales and dequantising read through it, so a weight that is a part of a packed tensor is one
// like any other to them. Two ways to read, since a quantised row keeps its codes:
//
//   stored(first, …)   some rows as they are stored, to be copied
//   read(first, out)   the same as f32
//
// Readers ask for blocks of 32 or so: rows of a quantised matrix may be made for them alone (BlockMaker), so that
// nobody keeps a whole one.
//
// Rows of a transposed tensor, which floats alone have, come the second way; `at` then says which column one is.
// A vector transposed is one row. Weights that are multiplied by factors come the second way as well, in f32.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Checkpoint.h"
#include "runtime/formats/RowOrder.h"

#include <functional>
#include <memory>

namespace ingot::import {

/// What a reference counts: the rows of a tensor, or, where the weight is a vector, the numbers of one of any shape, in the
/// order in which they are stored (the taps of a convolution [channels][taps] become [taps][channels] so).
enum class Unit { Rows, Numbers };

/// A row as the file has it: `index` counts as tensorRow does.
struct StoredRow {
  const Tensor *tensor;
  int64_t index;
};

class RowSource {
public:
  /// All rows of a tensor. It must outlive the source.
  RowSource(const Tensor &tensor);
  /// The rows of a weight, which the checkpoint must hold in one format and one width (E0852 if it does not), with as
  /// many factors as are asked for.
  /// A vector's numbers are rows of one column. The checkpoint must outlive the source.
  static Result<RowSource> find(const Checkpoint &checkpoint, std::span<const TensorRows> parts,
                                Unit unit = Unit::Rows);

  /// As its rows are stored; f32 where they are multiplied.
  WeightFormat format() const { return scaled ? WeightFormat::F32 : parts.front().tensor->format; }
  int64_t rows() const { return total; }
  int64_t columns() const { return width; }

  StoredRow at(int64_t n) const;
  /// Calls with rows `first`, first + 1, … as they are stored: (0 to count - 1, which it is, its bytes, which are gone
  /// afterwards). Not of a transposed tensor.
  void
  stored(int64_t first, int64_t count,
         const std::function<void(int64_t, StoredRow, std::span<const std::byte>)> &call) const;
  /// Rows `first`, first + 1, … as f32: as many as fill `out`.
  Result<void> read(int64_t first, std::span<float> out) const;
  /// As checkFinite of a tensor, of these rows alone, or of the whole of a transposed tensor.
  Result<void> checkFinite() const;

private:
  struct Part {
    const Tensor *tensor;
    RowOrder order;
    int64_t rows;  ///< of this part
    int64_t stack; ///< rows of the tensor before its matrix
    int64_t limit; ///< rows of the matrix, or its columns where it is transposed
    bool transposed = false;
    std::shared_ptr<const std::vector<float>> columnFactors = nullptr, rowFactors = nullptr;
    int64_t firstFactor = 0; ///< the row of the first of rowFactors
  };
  RowSource() = default;
  Result<void> add(const Tensor &tensor, const TensorRows &rows);
  /// Those of the part that was added last.
  Result<void> addFactors(const Checkpoint &checkpoint, const TensorRows &rows);
  static Result<void> readPart(const Part &part, int64_t row, int64_t count, int64_t width,
                               std::span<float> out);
  /// Calls with each stretch of rows that follow each other in a tensor: (its part, its row, how many).
  template <typename F> Result<void> forEachRun(int64_t first, int64_t count, F call) const;

  std::vector<Part> parts;
  std::vector<std::shared_ptr<const Tensor>>
      flat; ///< tensors in another shape: as their numbers, or vectors as a column
  int64_t total = 0, width = 0;
  bool scaled = false; ///< a part has factors
};

/// Whether two tensors hold the same, as they are stored.
bool sameRows(const Tensor &a, const Tensor &b);

/// Rows of a tensor, as references count them: the numbers of a vector, else all but the last dimension.
int64_t rowsOf(const Tensor &tensor, Unit unit = Unit::Rows);

} // namespace ingot::import
