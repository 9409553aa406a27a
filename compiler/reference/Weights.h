//===- Weights.h - Where the interpreter's numbers come from --------------===//
//
// `lm` refers to weights by name. CheckpointWeights reads what the file holds;
// SeededWeights makes numbers up, so that a pass can be checked in milliseconds and
// before any file is read.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/RowSource.h"
#include "compiler/reference/Matrix.h"
#include "dialects/lm/LmDialect.h"

#include "llvm/ADT/StringMap.h"

#include <map>

namespace ingot::lm {
class WeightOp;
}

namespace ingot::reference {

class WeightProvider {
public:
  virtual ~WeightProvider() = default;

  /// Row `index` as f32; out.size() is the weight's columns. A vector is its own row 0, rows of a stack are counted
  /// through all of its matrices.
  virtual Result<void> row(lm::WeightOp weight, int64_t index, std::span<float> out) = 0;

  /// y[t][n] = sum_k weight[n][k] x[t][k]; the arithmetic of Products.h. Of a stack: by `matrix`.
  virtual Result<Matrix> multiply(lm::WeightOp weight, const Matrix &x, int64_t matrix = 0) = 0;
};

/// Whether the numbers of a weight are those that its format can hold. A pass that changes formats keeps what is
/// computed from numbers as stored; what the formats themselves cost is another question, and no error.
enum class Rounding {
  ToFormat, ///< where --quantize or `fast` changed the format, numbers are rounded to the new one
  AsStored, ///< what the source has, whatever the format
};

/// The checkpoint's tensors, de-quantised when first used and rounded as asked. Whole tensors stay in memory until
/// `cacheBytes` are full; others are read again, some rows at a time.
class CheckpointWeights : public WeightProvider {
public:
  /// The checkpoint must outlive the object.
  explicit CheckpointWeights(const import::Checkpoint &checkpoint,
                             Rounding rounding = Rounding::ToFormat,
                             int64_t cacheBytes = int64_t(1) << 30);
  ~CheckpointWeights() override;

  Result<void> row(lm::WeightOp weight, int64_t index, std::span<float> out) override;
  Result<Matrix> multiply(lm::WeightOp weight, const Matrix &x, int64_t matrix = 0) override;

private:
  Result<import::RowSource> sourceOf(lm::WeightOp weight) const;
  Result<void> readRows(lm::WeightOp weight, const import::RowSource &source, int64_t first,
                        std::span<float> out) const;
  Result<const std::vector<float> *> cached(lm::WeightOp weight, const import::RowSource &source);

  const import::Checkpoint &checkpoint;
  Rounding rounding;
  int64_t cacheLeft;
  std::map<std::string, std::vector<float>> cache; ///< by source and type
};

/// Numbers that depend on the seed and the weight's symbol alone, or on those whose rows it has. Row n of a matrix is one
/// of 127 base rows times a factor of n's own: so a vocabulary of 262,144 rows costs no more
/// than 127, yet no two rows are equal, and a pass that mixes rows up is seen. Rounded are
/// the base rows of weights whose stored format a pass has changed.
class SeededWeights : public WeightProvider {
public:
  explicit SeededWeights(uint64_t seed = 1, Rounding rounding = Rounding::AsStored)
      : seed(seed), rounding(rounding) {}

  Result<void> row(lm::WeightOp weight, int64_t index, std::span<float> out) override;
  Result<Matrix> multiply(lm::WeightOp weight, const Matrix &x, int64_t matrix = 0) override;

private:
  struct Made {
    Matrix base;
    uint64_t key;
  };
  /// Those of a symbol with so many rows, of the type that the weight has.
  Result<const Made *> made(lm::WeightOp weight, llvm::StringRef symbol, int64_t rows);
  uint64_t keyOf(llvm::StringRef symbol) const;
  /// The first numbers of a vector by its symbol, each plus the offset.
  std::vector<float> factors(const Factors &factors, int64_t count);

  uint64_t seed;
  Rounding rounding;
  llvm::StringMap<Made> cache;
};

/// A number in [0, 1) made of a key and an index; SplitMix64 (Steele et al., OOPSLA 2014).
float uniform(uint64_t key, uint64_t index);

} // namespace ingot::reference
