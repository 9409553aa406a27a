//===- FileKind.h - The kind of a file, by its first bytes -----------------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>

namespace ingot::import {

enum class FileKind : uint8_t { Gguf, Safetensors, Json, Other };

/// Returns the kind of a file. The first bytes determine it, not the name, because Ollama's blobs have no extension.
/// Files that cannot be read or are not regular files are of kind Other.
FileKind fileKind(const std::string &path);

/// Returns whether openCheckpoint should try the file, according to its first bytes or its extension (.gguf,
/// .safetensors, .json). The extension is enough, so that the errors of a damaged file are reported.
bool isCheckpointFile(const std::string &path);

/// A kind of file that people often have in place of a model.
struct OtherFile {
  const char *start; ///< its first bytes
  const char *what;  ///< "a Git LFS pointer"
  const char *fix;   ///< how to get the model
};
/// Returns the kind of a file with these bytes; null if it is none of the known kinds.
const OtherFile *otherFile(std::string_view bytes);

/// Returns an error about a file of the wrong kind. If otherFile recognises the file, the error names its kind.
Error withOtherFile(Error error, std::string_view bytes);

} // namespace ingot::import
