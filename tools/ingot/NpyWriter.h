//===- NpyWriter.h - NumPy's file format, row by row -----------------------===//
//
// Version 1.0 of the format: a magic, a Python dict in text padded to 64 bytes, then
// the values in C order. Rows are written as they come, so that a matrix of any
// size needs no memory. Nothing is left behind at `path` unless finish() succeeds.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace ingot::cli {

class NpyWriter {
public:
  /// f32 [rows, columns]. E0121, exit 3.
  static Result<std::unique_ptr<NpyWriter>> create(const std::string &path, uint64_t rows,
                                                   uint64_t columns);
  ~NpyWriter();
  NpyWriter(const NpyWriter &) = delete;
  NpyWriter &operator=(const NpyWriter &) = delete;

  void row(const float *values);
  /// E0121 if anything could not be written (a full disk).
  Result<void> finish();

private:
  NpyWriter() = default;
  std::string path, temporary;
  FILE *file = nullptr;
  uint64_t columns = 0;
};

} // namespace ingot::cli
