//===- ColumnOrders.cpp - Matrices with permuted columns (act-order) ------===//
//
// If the column groups of a quantised checkpoint are not contiguous, its reader sorts the codes of a matrix by group
// and adds a vector of the columns' original indices (GroupedInts.h). That vector becomes a second weight, by which
// rows are permuted before they are multiplied by the matrix (lm.permute):
//
//   a matrix of a layer   "<role>_columns" [columns]
//   experts               the concatenated permutations of all experts (orderStride), or one if all are equal
//   the head              @output_columns [columns]
//
// The permutations are constants in the module, so that checks with dummy weights permute columns as well. Projections
// of one input mostly have the same permutation. They then share the weight of the first projection, and the input is
// permuted only once.
//===----------------------------------------------------------------------===//
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/parts/GroupedInts.h"
#include "models/ModelBuilder.h"
#include "runtime/abi/Routes.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::models;

/// Removes and returns the tensor's column permutation; empty if its columns are not permuted.
std::vector<float> ModelBuilder::takeColumns(StringRef matrix, int64_t length) {
  const std::string source = import::columnsOfWeight(matrix);
  const import::Tensor *columns = checkpoint.find(source);
  if (!columns)
    return {};
  takeUnread(source);
  std::vector<float> numbers(static_cast<size_t>(columns->elements()));
  auto read = import::RowSource(*columns).read(0, numbers);
  if (read && static_cast<int64_t>(numbers.size()) == length)
    return numbers;
  refuseShape(*columns, {length}, "");
  return {};
}

lm::WeightOp ModelBuilder::columnsOf(StringRef symbol, StringRef matrix, int64_t length) {
  const std::vector<float> numbers = takeColumns(matrix, length);
  return numbers.empty() ? lm::WeightOp() : values(symbol, numbers);
}

void ModelBuilder::addColumns(LayerWeights &weights, int64_t layer, StringRef of,
                              ArrayRef<float> numbers) {
  if (numbers.empty())
    return;
  const std::string role = (of + kColumns).str();
  const Attribute values = builder.getDenseF32ArrayAttr(numbers);
  for (auto [other, weight] : weights.list)
    if (weight && weight.getValuesAttr() == values)
      return weights.share(role, other);
  weights.add(role, this->values(symbolOf(layer, role), numbers));
}

void ModelBuilder::addColumns(LayerWeights &weights, int64_t layer, StringRef role,
                              StringRef matrix, int64_t length) {
  addColumns(weights, layer, role, takeColumns(matrix, length));
}

/// Experts without a column permutation get the identity permutation.
void ModelBuilder::addStackColumns(LayerWeights &weights, int64_t layer, StringRef role,
                                   ArrayRef<TensorRows> matrices, int64_t length) {
  const int64_t stride = orderStride(length);
  std::vector<float> numbers(matrices.size() * static_cast<size_t>(stride));
  bool ordered = false, same = true;
  for (auto [e, matrix] : llvm::enumerate(matrices)) {
    std::vector<float> own = takeColumns(matrix.tensor, length);
    ordered |= !own.empty();
    if (own.empty()) {
      own.resize(static_cast<size_t>(length));
      std::iota(own.begin(), own.end(), 0.0f);
    }
    std::ranges::copy(own, numbers.begin() + static_cast<int64_t>(e) * stride);
    same &= std::ranges::equal(own, std::span(numbers).first(own.size()));
  }
  if (same)
    numbers.resize(static_cast<size_t>(length));
  if (ordered)
    addColumns(weights, layer, role, numbers);
}
