//===- FileKind.h - What a file is, by its first bytes ---------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>

namespace ingot::import {

enum class FileKind : uint8_t { Gguf, Safetensors, Json, Other };

/// By its first bytes, whatever it is called: Ollama's blobs have no ending. Other: also what cannot be read, or is no
/// regular file.
FileKind fileKind(const std::string &path);

/// Whether openCheckpoint would take the file: by its first bytes, or by its ending (.gguf, .safetensors, .json), so that what
/// is wrong with it is said.
bool isCheckpointFile(const std::string &path);

/// What people have in place of a model's file: "a Git LFS pointer", and the way to the model. Null: nothing that is known.
struct OtherFile {
  const char *start, *what, *fix;
};
const OtherFile *otherFile(std::string_view bytes);

/// An error about a file of the wrong kind, with the words of otherFile if it is one of these.
Error withOtherFile(Error error, std::string_view bytes);

} // namespace ingot::import
