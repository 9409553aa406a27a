//===- CheckpointWeights.cpp - The checkpoint's tensors as f32 ------------===//
#include "compiler/reference/Products.h"
#include "compiler/reference/Rounding.h"
#include "compiler/reference/Weights.h"
#include "dialects/lm/ops/Weights.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::reference;

CheckpointWeights::CheckpointWeights(const import::Checkpoint &checkpoint, Rounding rounding,
                                     int64_t cacheBytes)
    : checkpoint(checkpoint), rounding(rounding), cacheLeft(cacheBytes) {}

CheckpointWeights::~CheckpointWeights() = default;

Result<import::RowSource> CheckpointWeights::sourceOf(lm::WeightOp weight) const {
  std::string why = "it has its own values";
  if (weight.getSource()) {
    auto source = import::RowSource::find(checkpoint, lm::rowsOf(*weight.getSource()),
                                          weight.getType().isVectors() ? import::Unit::Numbers
                                                                       : import::Unit::Rows);
    if (source)
      return source;
    why = source.error().what + ": " + source.error().why;
  }
  return Error{ExitCode::File, "E0451",
               "the checkpoint has no values for the weight " + weight.getSymName().str(), why,
               "run the interpreter on the checkpoint that was imported"};
}

Result<void> CheckpointWeights::readRows(lm::WeightOp weight, const import::RowSource &source,
                                         int64_t first, std::span<float> out) const {
  if (auto read = source.read(first, out); !read)
    return read;
  lm::WeightType type = weight.getType();
  if (rounding != Rounding::ToFormat || source.format() == type.getFormat())
    return {};
  const auto columns = static_cast<size_t>(type.columns());
  for (; !out.empty(); out = out.subspan(columns))
    if (auto rounded = roundRow(type.getFormat(), out.first(columns)); !rounded)
      return rounded;
  return {};
}

/// Returns the whole weight, and reads it into the cache first if necessary. Returns null if the cache has no room.
Result<const std::vector<float> *> CheckpointWeights::cached(lm::WeightOp weight,
                                                             const import::RowSource &source) {
  std::string key;
  llvm::raw_string_ostream(key) << *weight.getSource() << ' ' << weight.getType();
  if (auto found = cache.find(key); found != cache.end())
    return &found->second;
  const int64_t numbersHeld = source.rows() * source.columns(),
                bytes = numbersHeld * static_cast<int64_t>(sizeof(float));
  if (bytes > cacheLeft)
    return nullptr;
  std::vector<float> numbers(static_cast<size_t>(numbersHeld));
  if (auto read = readRows(weight, source, 0, numbers); !read)
    return std::move(read.error());
  cacheLeft -= bytes;
  return &cache.emplace(std::move(key), std::move(numbers)).first->second;
}

Result<void> CheckpointWeights::row(lm::WeightOp weight, int64_t index, std::span<float> out) {
  auto source = sourceOf(weight);
  if (!source)
    return std::move(source.error());
  return readRows(weight, *source, index, out); // reads all values of a vector
}

Result<Matrix> CheckpointWeights::multiply(lm::WeightOp weight, const Matrix &x, int64_t matrix) {
  auto source = sourceOf(weight);
  if (!source)
    return std::move(source.error());
  auto whole = cached(weight, *source);
  if (!whole)
    return std::move(whole.error());
  int64_t rows = weight.getType().rows(), columns = x.columns, first = matrix * rows;
  Matrix y(x.rows, rows);
  if (*whole) {
    multiplyRows(x, (*whole)->data() + first * columns, rows, y.values.data(), rows);
    return y;
  }
  constexpr int64_t kRowsAtOnce = 1024;
  std::vector<float> some(static_cast<size_t>(std::min(kRowsAtOnce, rows) * columns));
  for (int64_t n = 0; n < rows; n += kRowsAtOnce) {
    int64_t count = std::min(kRowsAtOnce, rows - n);
    if (auto read = readRows(weight, *source, first + n,
                             std::span(some).first(static_cast<size_t>(count * columns)));
        !read)
      return std::move(read.error());
    multiplyRows(x, some.data(), count, y.values.data() + n, rows);
  }
  return y;
}
