//===- SeededWeights.cpp - Generated weights for checking passes ----------===//
#include "compiler/reference/Products.h"
#include "compiler/reference/Rounding.h"
#include "compiler/reference/Weights.h"
#include "dialects/lm/ops/Weights.h"

#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cmath>

using namespace ingot;
using namespace ingot::reference;

static constexpr int64_t kBaseRows = 127; // a prime, so no head or panel size divides it

float reference::uniform(uint64_t key, uint64_t index) {
  uint64_t z = key + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<float>(z >> 40) * 0x1p-24f;
}

/// Vectors are norm weights and biases, so their elements are around 1.
static constexpr float kVectorMiddle = 1.0f, kVectorSize = 0.5f;

uint64_t SeededWeights::keyOf(llvm::StringRef symbol) const {
  return llvm::xxh3_64bits(symbol) ^ (seed * 0x9E3779B97F4A7C15u);
}

static float rowFactor(uint64_t key, int64_t row) {
  return 0.5f + uniform(~key, static_cast<uint64_t>(row));
}

Result<const SeededWeights::Made *> SeededWeights::made(lm::WeightOp weight, llvm::StringRef symbol,
                                                        int64_t rows) {
  lm::WeightType type = weight.getType();
  bool rounds = rounding == Rounding::ToFormat && weight.getStored() &&
                weight.getStored()->getId() != type.getFormat();
  std::string key = symbol.str();
  if (rounds)
    (key += ' ') += type.numeric().name;
  auto [entry, isNew] = cache.try_emplace(key);
  Made &made = entry->second;
  if (!isNew)
    return &made;
  made.key = keyOf(symbol);
  int64_t columns = type.isVector() ? rows : type.columns();
  made.base = Matrix(type.isVector() ? 1 : std::min(kBaseRows, rows), columns);
  // The elements of a matrix are so small that a row of x with elements of about 1 again gives results of about 1.
  // Vectors, which are norm weights and biases, get other values.
  float size = type.isVectors() ? kVectorSize : std::sqrt(3.0f / static_cast<float>(columns));
  float middle = type.isVectors() ? kVectorMiddle : 0.0f;
  for (size_t i = 0; i < made.base.values.size(); ++i)
    made.base.values[i] = middle + size * (2 * uniform(made.key, i) - 1);
  for (int64_t n = 0; rounds && n < made.base.rows; ++n)
    if (auto rounded = roundRow(type.getFormat(), made.base.row(n)); !rounded)
      return std::move(rounded.error());
  return &made;
}

std::vector<float> SeededWeights::factors(const Factors &factors, int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  const uint64_t key = keyOf(factors.vector);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = kVectorMiddle + kVectorSize * (2 * uniform(key, i) - 1) + factors.offset;
  return numbers;
}

Result<void> SeededWeights::row(lm::WeightOp weight, int64_t index, std::span<float> out) {
  const bool vector = weight.getType().isVector();
  int64_t done = 0; // rows before the piece
  for (const lm::WeightRows &piece : lm::originsOf(weight)) {
    auto numbers = made(weight, piece.symbol, piece.total);
    if (!numbers)
      return std::move(numbers.error());
    const Matrix &rows = (*numbers)->base;
    std::vector<float> rowFactors, columnFactors;
    if (piece.rowFactors)
      rowFactors = factors(*piece.rowFactors, piece.first + piece.count - piece.rowFactors->first);
    if (piece.columnFactors)
      columnFactors = factors(*piece.columnFactors, static_cast<int64_t>(out.size()));
    auto rowFactorOf = [&](int64_t n) {
      return piece.rowFactors ? rowFactors[static_cast<size_t>(n - piece.rowFactors->first)] : 1.0f;
    };
    if (vector) {
      for (int64_t n = 0; n < piece.count; ++n)
        out[static_cast<size_t>(done + n)] =
            rows.row(0)[static_cast<size_t>(piece.first + n)] * rowFactorOf(piece.first + n);
    } else if (index >= done && index < done + piece.count) {
      const int64_t n = piece.first + index - done;
      std::span<const float> base = rows.row(n % rows.rows);
      const float factor = rowFactor((*numbers)->key, n) * rowFactorOf(n);
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = base[i] * factor * (piece.columnFactors ? columnFactors[i] : 1.0f);
    }
    done += piece.count;
  }
  return {};
}

Result<Matrix> SeededWeights::multiply(lm::WeightOp weight, const Matrix &x, int64_t matrix) {
  const int64_t rows = weight.getType().rows(), from = matrix * rows;
  Matrix y(x.rows, rows);
  int64_t done = 0;
  for (const lm::WeightRows &piece : lm::originsOf(weight)) {
    auto numbers = made(weight, piece.symbol, piece.total);
    if (!numbers)
      return std::move(numbers.error());
    const Matrix &base = (*numbers)->base;
    Matrix scaled; // x times the column factors
    if (piece.columnFactors) {
      scaled = x;
      const std::vector<float> by = factors(*piece.columnFactors, x.columns);
      for (size_t i = 0; i < scaled.values.size(); ++i)
        scaled.values[i] *= by[i % by.size()];
    }
    std::vector<float> rowFactors;
    if (piece.rowFactors)
      rowFactors = factors(*piece.rowFactors, piece.first + piece.count - piece.rowFactors->first);
    Matrix products(x.rows, base.rows);
    multiplyRows(piece.columnFactors ? scaled : x, base.values.data(), base.rows,
                 products.values.data(), base.rows);
    for (int64_t n = std::max<int64_t>(from - done, 0);
         n < std::min(piece.count, from + rows - done); ++n) {
      const int64_t own = piece.first + n;
      float factor = rowFactor((*numbers)->key, own);
      if (piece.rowFactors)
        factor *= rowFactors[static_cast<size_t>(own - piece.rowFactors->first)];
      for (int64_t t = 0; t < x.rows; ++t)
        y.values[t * rows + done + n - from] =
            products.values[t * base.rows + own % base.rows] * factor;
    }
    done += piece.count;
  }
  return y;
}
