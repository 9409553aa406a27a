//===- NpyWriter.h - NumPy's file format, row by row -----------------------===//
//
// This is version 1.0 of the format: a magic, a Python dict as text padded to a multiple of
// 64 bytes, then the values in C order. Rows are written as they arrive, so a matrix of any
// size needs no memory. A file at `path` stays unchanged unless finish() succeeds.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/files/Files.h"

#include <cstdint>
#include <memory>
#include <string>

namespace ingot::cli {

class NpyWriter {
public:
  /// Creates a file for f32 [rows, columns]. Errors: E0121, exit 3.
  static Result<std::unique_ptr<NpyWriter>> create(const std::string &path, uint64_t rows,
                                                   uint64_t columns);

  void row(const float *values);
  /// Completes the file. Errors: E0121: some part could not be written, for example because the disk is full.
  Result<void> finish();

private:
  NpyWriter() = default;
  std::unique_ptr<OutputFile> file;
  uint64_t columns = 0;
};

} // namespace ingot::cli
