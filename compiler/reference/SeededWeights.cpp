//===- SeededWeights.cpp - Made-up weights for checking passes ------------===//
#include "compiler/reference/Products.h"
#include "compiler/reference/Rounding.h"
#include "compiler/reference/Weights.h"
#include "dialects/lm/ops/Weights.h"

#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cmath>

using namespace ingot;
using namespace ingot::reference;

static constexpr int64_t kBaseRows = 127; // prime: no head or panel size divides it

float reference::uniform(uint64_t key, uint64_t index) {
  uint64_t z = key + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<float>(z >> 40) * 0x1p-24f;
}

static float rowFactor(uint64_t key, int64_t row) {
  return 0.5f + uniform(~key, static_cast<uint64_t>(row));
}

namespace {

/// Rows of a weight that come from one symbol: all of them, unless the weight is made of rows of others.
struct Piece {
  llvm::StringRef symbol;
  int64_t first, count, total;
};

std::vector<Piece> piecesOf(lm::WeightOp weight) {
  lm::WeightType type = weight.getType();
  auto origins = weight->getAttrOfType<mlir::ArrayAttr>(lm::kRowsOfAttr);
  const int64_t rows = type.matrices() * type.rows();
  if (!origins)
    return {{weight.getSymName(), 0, rows, rows}};
  std::vector<Piece> pieces;
  for (auto origin : origins.getAsRange<mlir::ArrayAttr>()) {
    auto number = [&](int i) { return mlir::cast<mlir::IntegerAttr>(origin[i]).getInt(); };
    pieces.push_back(
        {mlir::cast<mlir::StringAttr>(origin[0]).getValue(), number(1), number(2), number(3)});
  }
  return pieces;
}

} // namespace

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
  made.key = llvm::xxh3_64bits(symbol) ^ (seed * 0x9E3779B97F4A7C15u);
  int64_t columns = type.isVector() ? rows : type.columns();
  made.base = Matrix(type.isVector() ? 1 : std::min(kBaseRows, rows), columns);
  // A product of unit-sized rows stays of unit size; vectors are norms and biases.
  float size = type.isVectors() ? 0.5f : std::sqrt(3.0f / static_cast<float>(columns));
  float middle = type.isVectors() ? 1.0f : 0.0f;
  for (size_t i = 0; i < made.base.values.size(); ++i)
    made.base.values[i] = middle + size * (2 * uniform(made.key, i) - 1);
  for (int64_t n = 0; rounds && n < made.base.rows; ++n)
    if (auto rounded = roundRow(type.getFormat(), made.base.row(n)); !rounded)
      return std::move(rounded.error());
  return &made;
}

Result<void> SeededWeights::row(lm::WeightOp weight, int64_t index, std::span<float> out) {
  const bool vector = weight.getType().isVector();
  int64_t done = 0; // rows before the piece
  for (const Piece &piece : piecesOf(weight)) {
    auto numbers = made(weight, piece.symbol, piece.total);
    if (!numbers)
      return std::move(numbers.error());
    const Matrix &rows = (*numbers)->base;
    if (vector) {
      std::copy_n(rows.row(0).begin() + piece.first, piece.count, out.begin() + done);
    } else if (index >= done && index < done + piece.count) {
      const int64_t n = piece.first + index - done;
      std::span<const float> base = rows.row(n % rows.rows);
      float factor = rowFactor((*numbers)->key, n);
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = base[i] * factor;
    }
    done += piece.count;
  }
  return {};
}

Result<Matrix> SeededWeights::multiply(lm::WeightOp weight, const Matrix &x, int64_t matrix) {
  const int64_t rows = weight.getType().rows(), from = matrix * rows;
  Matrix y(x.rows, rows);
  int64_t done = 0;
  for (const Piece &piece : piecesOf(weight)) {
    auto numbers = made(weight, piece.symbol, piece.total);
    if (!numbers)
      return std::move(numbers.error());
    const Matrix &base = (*numbers)->base;
    Matrix products(x.rows, base.rows);
    multiplyRows(x, base.values.data(), base.rows, products.values.data(), base.rows);
    for (int64_t n = std::max<int64_t>(from - done, 0);
         n < std::min(piece.count, from + rows - done); ++n) {
      const int64_t own = piece.first + n;
      float factor = rowFactor((*numbers)->key, own);
      for (int64_t t = 0; t < x.rows; ++t)
        y.values[t * rows + done + n - from] =
            products.values[t * base.rows + own % base.rows] * factor;
    }
    done += piece.count;
  }
  return y;
}
