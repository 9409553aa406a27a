//===- WantedFiles.h - The files of a repository that make a model --------===//
//
// A repository holds many files that a compiler does not read: pictures, and the same weights as pickles, as
// ONNX or for other frameworks. Only these files are fetched:
//
//   config.json, generation_config.json, files of the tokenizer and of the chat template
//   model.safetensors, or the shards of model.safetensors.index.json
//   or else a GGUF: the one that was named, or the only one; all parts of a split one
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/hub/Reference.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot::hub {

/// A file of a repository as its hub lists it.
struct ListedFile {
  std::string path;
  std::optional<uint64_t> bytes; ///< if the list has it
};

/// The files that openCheckpoint needs.
struct WantedFiles {
  std::vector<std::string> texts;   ///< small files, which are fetched first
  std::string index;                ///< of the shards, one of `texts`; or empty
  std::vector<std::string> weights; ///< excluding shards, which the index names
  /// The path to open inside the snapshot: a GGUF, its first part, or a single safetensors file with an
  /// unusual name. Empty: the folder.
  std::string opened;
};

/// Selects the files of a model. Errors: E0154: the named file does not exist; E0156: there are several GGUFs
/// and the reference must name one (the error lists them with their sizes); E0157: there are no weights that
/// Ingot reads.
Result<WantedFiles> wantedFiles(const Reference &reference, const std::vector<ListedFile> &files);

/// Returns the sorted shards of a model.safetensors.index.json. `where` is for messages. Errors: E0175: the
/// text is not such an index, or a shard is not a plain file name.
Result<std::vector<std::string>> shardsOf(const std::string &indexJson, const std::string &where);

/// "105.3 MiB", "4.1 GiB"
std::string readableBytes(uint64_t bytes);

} // namespace ingot::hub
