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

Result<const SeededWeights::Made *> SeededWeights::made(lm::WeightOp weight) {
  lm::WeightType type = weight.getType();
  bool rounds = rounding == Rounding::ToFormat && weight.getStored() &&
                weight.getStored()->getId() != type.getFormat();
  std::string key = weight.getSymName().str();
  if (rounds)
    (key += ' ') += type.numeric().name;
  auto [entry, isNew] = cache.try_emplace(key);
  Made &made = entry->second;
  if (!isNew)
    return &made;
  made.key = llvm::xxh3_64bits(weight.getSymName()) ^ (seed * 0x9E3779B97F4A7C15u);
  int64_t columns = type.columns();
  made.base =
      Matrix(type.isVector() ? 1 : std::min(kBaseRows, type.matrices() * type.rows()), columns);
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
  auto numbers = made(weight);
  if (!numbers)
    return std::move(numbers.error());
  const Matrix &rows = (*numbers)->base;
  std::span<const float> base = rows.row(index % rows.rows);
  float factor = weight.getType().isVector() ? 1.0f : rowFactor((*numbers)->key, index);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = base[i] * factor;
  return {};
}

Result<Matrix> SeededWeights::multiply(lm::WeightOp weight, const Matrix &x, int64_t matrix) {
  auto numbers = made(weight);
  if (!numbers)
    return std::move(numbers.error());
  const Matrix &base = (*numbers)->base;
  int64_t baseRows = base.rows, rows = weight.getType().rows(), first = matrix * rows;
  Matrix products(x.rows, baseRows);
  multiplyRows(x, base.values.data(), baseRows, products.values.data(), baseRows);
  Matrix y(x.rows, rows);
  for (int64_t n = 0; n < rows; ++n) {
    float factor = rowFactor((*numbers)->key, first + n);
    for (int64_t t = 0; t < x.rows; ++t)
      y.values[t * rows + n] = products.values[t * baseRows + (first + n) % baseRows] * factor;
  }
  return y;
}
