//===- SplitGguf.h - A GGUF model in several files ------------------------===//
//
//   NAME-00001-of-00003.gguf   the model's keys, and tensors or none; split.no 0
//   NAME-00002-of-00003.gguf   tensors; split.no 1
//   NAME-00003-of-00003.gguf   tensors; split.no 2
//
// Each has split.count 3, and split.tensors.count is the number of tensors in all files. The reader finds the files by
// name, and their keys must confirm that they belong together (llama.cpp's gguf-split).
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/CheckpointBuilder.h"

#include <optional>

namespace ingot::import {

/// The components of a part's file name.
struct SplitName {
  std::string stem;
  int64_t number, count; ///< number from 1

  std::string file() const;
};

/// Parses the file name of a part. Returns nothing if the name does not follow this pattern.
std::optional<SplitName> splitName(std::string_view file);

/// Reads all parts of a model, one of which is the file `named` in `folder`. Returns the files' bytes, in the order of
/// the parts. The builder keeps the files mapped. Errors: all errors of readGguf and Folder::open, E0840 (a part is
/// missing), E0841 (parts that do not belong together).
Result<std::vector<std::span<const std::byte>>>
readSplitGguf(const std::string &folder, const SplitName &named, CheckpointBuilder &builder);

} // namespace ingot::import
