//===- FileKind.h - What a file is, by its first bytes ---------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>

namespace ingot::import {

enum class FileKind : uint8_t { Gguf, Safetensors, Json, Other };

/// Determined by the first bytes, not by the name: Ollama's blobs have no extension. Other: also files that
/// cannot be read or are not regular files.
FileKind fileKind(const std::string &path);

/// Whether openCheckpoint should try the file: by its first bytes, or by its extension (.gguf, .safetensors,
/// .json), so that the errors of a damaged file are reported.
bool isCheckpointFile(const std::string &path);

/// A kind of file that people often have in place of a model.
struct OtherFile {
  const char *start; ///< its first bytes
  const char *what;  ///< "a Git LFS pointer"
  const char *fix;   ///< how to get the model
};
/// Returns the kind of a file with these bytes; null if it is none of the known kinds.
const OtherFile *otherFile(std::string_view bytes);

/// An error about a file of the wrong kind, reworded by otherFile if it recognises the file.
Error withOtherFile(Error error, std::string_view bytes);

} // namespace ingot::import
