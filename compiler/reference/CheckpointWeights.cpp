//===- CheckpointWeights.cpp - The checkpoint's tensors as f32 ------------===//
#include "compiler/reference/Products.h"
#include "compiler/reference/Rounding.h"
#include "compiler/reference/Weights.h"

#include "compiler/import/Dequantize.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::reference;

CheckpointWeights::CheckpointWeights(const import::Checkpoint &checkpoint, Rounding rounding,
                                     int64_t cacheBytes)
    : checkpoint(checkpoint), rounding(rounding), cacheLeft(cacheBytes) {}

CheckpointWeights::~CheckpointWeights() = default;

Result<const import::Tensor *> CheckpointWeights::tensorOf(lm::WeightOp weight) const {
  std::string source = weight.getSource().value_or("").str();
  if (const import::Tensor *tensor = checkpoint.find(source))
    return tensor;
  return Error{ExitCode::File, "E0451",
               "the checkpoint has no numbers for the weight " + weight.getSymName().str(),
               "it has no tensor '" + source + "'",
               "run the interpreter on the checkpoint that was imported"};
}

Result<void> CheckpointWeights::readRows(lm::WeightOp weight, const import::Tensor &tensor,
                                         int64_t first, int64_t count, float *out) const {
  lm::WeightType type = weight.getType();
  bool rounds = rounding == Rounding::ToFormat && tensor.format != type.getFormat();
  size_t columns = static_cast<size_t>(type.columns());
  for (int64_t i = 0; i < count; ++i) {
    std::span<float> row(out + i * columns, columns);
    if (auto read = import::dequantizeRow(tensor, first + i, row); !read)
      return std::move(read.error());
    if (rounds)
      if (auto rounded = roundRow(type.getFormat(), row); !rounded)
        return std::move(rounded.error());
  }
  return {};
}

/// The whole tensor if it is or can be kept; null if there is no room.
Result<const std::vector<float> *> CheckpointWeights::cached(lm::WeightOp weight,
                                                             const import::Tensor &tensor) {
  std::string key = tensor.name + " " + std::string(weight.getType().numeric().name);
  if (auto found = cache.find(key); found != cache.end())
    return &found->second;
  int64_t bytes = tensor.elements() * static_cast<int64_t>(sizeof(float));
  if (bytes > cacheLeft)
    return nullptr;
  std::vector<float> numbers(static_cast<size_t>(tensor.elements()));
  lm::WeightType type = weight.getType();
  int64_t rows = type.isVector() ? 1 : type.rows();
  if (auto read = readRows(weight, tensor, 0, rows, numbers.data()); !read)
    return std::move(read.error());
  cacheLeft -= bytes;
  return &cache.emplace(std::move(key), std::move(numbers)).first->second;
}

Result<void> CheckpointWeights::row(lm::WeightOp weight, int64_t index, std::span<float> out) {
  auto tensor = tensorOf(weight);
  if (!tensor)
    return std::move(tensor.error());
  return readRows(weight, **tensor, index, 1, out.data());
}

Result<Matrix> CheckpointWeights::multiply(lm::WeightOp weight, const Matrix &x) {
  auto tensor = tensorOf(weight);
  if (!tensor)
    return std::move(tensor.error());
  auto whole = cached(weight, **tensor);
  if (!whole)
    return std::move(whole.error());
  int64_t rows = weight.getType().rows(), columns = x.columns;
  Matrix y(x.rows, rows);
  if (*whole) {
    multiplyRows(x, (*whole)->data(), rows, y.values.data(), rows);
    return y;
  }
  constexpr int64_t kRowsAtOnce = 1024;
  std::vector<float> some(static_cast<size_t>(std::min(kRowsAtOnce, rows) * columns));
  for (int64_t n = 0; n < rows; n += kRowsAtOnce) {
    int64_t count = std::min(kRowsAtOnce, rows - n);
    if (auto read = readRows(weight, **tensor, n, count, some.data()); !read)
      return std::move(read.error());
    multiplyRows(x, some.data(), count, y.values.data() + n, rows);
  }
  return y;
}
