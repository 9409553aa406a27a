//===- UseCheckpoint.h - Touches everything an importer promised ----------===//
#pragma once

#include "compiler/import/checkpoint/Dequantize.h"

#include <cstdlib>

namespace ingot::fuzz {

/// Reads the first and the last row of every tensor, scans the tensor, and looks up every key.
/// Tests the promise that after a successful import all tensor data lies inside the file.
inline void useCheckpoint(const import::Checkpoint &checkpoint) {
  for (const import::Tensor &tensor : checkpoint.tensors) {
    (void)import::checkFinite(tensor);
    const int64_t k = tensor.shape.back(), rows = tensor.elements() / k;
    if (k > (1 << 20))
      continue;
    std::vector<float> row(static_cast<size_t>(k));
    for (int64_t index : {int64_t(0), rows - 1})
      if (!import::dequantizeRow(tensor, index, row))
        std::abort();
  }
  for (const auto &[key, value] : checkpoint.metadata) {
    (void)checkpoint.number(key);
    (void)checkpoint.array(key);
  }
  if (!checkpoint.unusedKeys().empty())
    std::abort();
}

/// Checks that the error is classified as a file error.
inline void checkError(const Error &error) {
  if (error.exit != ExitCode::File ||
      (!error.code.starts_with("E02") && !error.code.starts_with("E047") &&
       !error.code.starts_with("E084")) ||
      error.what.empty() || error.fix.empty())
    std::abort();
}

} // namespace ingot::fuzz
