//===- WantedFiles.h - Which files of a repository make a model -----------===//
//
// A repository holds much that a compiler does not read: the same weights pickled, as ONNX, for
// other frameworks, pictures. Fetched are
//
//   config.json, generation_config.json, files of the tokenizer and of the chat template
//   model.safetensors, or the shards of model.safetensors.index.json
//   or else a GGUF: the one that was named, or the only one; of a split one all parts
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
  std::optional<uint64_t> bytes; ///< if the list says it
};

/// What openCheckpoint needs.
struct WantedFiles {
  std::vector<std::string> texts;   ///< small: fetched first
  std::string index;                ///< of the shards, one of `texts`; or empty
  std::vector<std::string> weights; ///< without shards: those stand in the index
  /// What is opened, inside the snapshot: a GGUF, its first part, or a single safetensors of an odd name.
  /// Empty: the folder.
  std::string opened;
};

/// E0154: the named file is not there; E0156: several GGUFs, of which one must be named (all are listed, with
/// their sizes); E0157: no weights that Ingot reads.
Result<WantedFiles> wantedFiles(const Reference &reference, const std::vector<ListedFile> &files);

/// The shards of a model.safetensors.index.json, sorted. E0155 if it is none, or one of them is no
/// plain path. `where` is for messages.
Result<std::vector<std::string>> shardsOf(const std::string &indexJson, const std::string &where);

/// "105.3 MiB", "4.1 GiB"
std::string readableBytes(uint64_t bytes);

} // namespace ingot::hub
