//===- Matrix.h - Rows of f32 ---------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::reference {

/// A matrix [rows][columns] that owns its values, in row-major order.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;

  Matrix() = default;
  Matrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), values(static_cast<size_t>(rows * columns)) {}

  std::span<float> row(int64_t i) {
    return {values.data() + i * columns, static_cast<size_t>(columns)};
  }
  std::span<const float> row(int64_t i) const {
    return {values.data() + i * columns, static_cast<size_t>(columns)};
  }
};

} // namespace ingot::reference
