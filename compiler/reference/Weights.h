//===- Weights.h - Sources of the interpreter's weights -------------------===//
//
// `lm` refers to weights by name. CheckpointWeights reads their values from the checkpoint. SeededWeights generates
// values, so a pass can be checked in milliseconds and before any file is read.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/RowSource.h"
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

  /// Reads row `index` as f32. out.size() is the weight's number of columns. A vector is a single row, 0. The rows of a
  /// stack are numbered consecutively through all of its matrices.
  virtual Result<void> row(lm::WeightOp weight, int64_t index, std::span<float> out) = 0;

  /// y[t][n] = sum_k weight[n][k] x[t][k], with the arithmetic of Products.h. For a stack, `matrix` selects
  /// the matrix.
  virtual Result<Matrix> multiply(lm::WeightOp weight, const Matrix &x, int64_t matrix = 0) = 0;
};

/// Specifies whether weights are rounded to their format. A pass that changes formats must preserve the results that
/// are computed from unrounded values. The rounding error of the formats is measured separately and does not count as a
/// failure.
enum class Rounding {
  ToFormat, ///< where --quantize or `fast` changed the format, values are rounded to the new
            ///< format
  AsStored, ///< values are exactly as in the source, whatever the format
};

/// The checkpoint's tensors, dequantised on first use and rounded as requested. Whole tensors stay in memory
/// until `cacheBytes` are used; others are read again, some rows at a time.
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

/// Numbers that depend only on the seed and the weight's symbol. For a derived weight, they depend on the symbols of
/// its origins. Row n of a matrix is one of 127 base rows times a factor specific to n. A vocabulary of 262,144 rows
/// therefore costs no more than 127 rows. But no two rows are equal, so a pass that mixes up rows is detected. Base
/// rows are rounded if a pass has changed the weight's stored format.
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
  /// Returns the base rows of the symbol, which has `rows` rows and the type of the weight.
  Result<const Made *> made(lm::WeightOp weight, llvm::StringRef symbol, int64_t rows);
  uint64_t keyOf(llvm::StringRef symbol) const;
  /// Returns the first `count` elements of the vector that `factors` names, each plus the offset.
  std::vector<float> factors(const Factors &factors, int64_t count);

  uint64_t seed;
  Rounding rounding;
  llvm::StringMap<Made> cache;
};

/// A number in [0, 1) derived from a key and an index; SplitMix64 (Steele et al., OOPSLA 2014).
float uniform(uint64_t key, uint64_t index);

} // namespace ingot::reference
