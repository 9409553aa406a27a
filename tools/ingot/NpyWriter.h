//===- NpyWriter.h - NumPy's file format, row by row -----------------------===//
//
// Version 1.0 of the format: a magic, a Python dict in text padded to 64 bytes, then
// the values in C order. Rows are written as they come, so that a matrix of any
// size needs no memory. A file at `path` stays as it is unless finish() succeeds.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/ingot/Files.h"

#include <cstdint>
#include <memory>
#include <string>

namespace ingot::cli {

class NpyWriter {
public:
  /// f32 [rows, columns]. E0121, exit 3.
  static Result<std::unique_ptr<NpyWriter>> create(const std::string &path, uint64_t rows,
                                                   uint64_t columns);

  void row(const float *values);
  /// E0121 if anything could not be written (a full disk).
  Result<void> finish();

private:
  NpyWriter() = default;
  std::unique_ptr<OutputFile> file;
  uint64_t columns = 0;
};

} // namespace ingot::cli
