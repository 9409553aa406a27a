//===- CheckpointFiles.h - Checkpoints as a test describes them -----------===//
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ingot::test {

/// The files of a checkpoint, and what to open.
struct CheckpointFiles {
  std::string name = {};                         ///< of the kind, unique: "tensor-twice"
  std::string code = {};                         ///< the error it must give; empty for a valid one
  std::string open = {};                         ///< what to name to the importer; "" is the folder
  std::map<std::string, std::string> files = {}; ///< by name
  std::map<std::string, std::string> links = {}; ///< symbolic links: name -> target
  std::vector<std::string> pipes = {};
};

/// Writes the files below `folder` (made if needed); returns the path to open. Ends the
/// program if that fails: a test's set-up is no place for errors.
std::string writeCheckpoint(const CheckpointFiles &checkpoint, const std::string &folder);

/// Every bad kind, each with another code within its own list.
std::vector<CheckpointFiles> badGgufFiles();
std::vector<CheckpointFiles> badSafetensorsFiles();

/// A valid folder (config.json, tokenizer files, two shards or one file).
CheckpointFiles validFolder();
CheckpointFiles validShardedFolder();
/// GgufImage::valid() in three parts, "m-00001-of-00003.gguf" and so on, of which the first has no
/// tensors; `tensors` is what each says that there are in all. The folder is what is opened.
CheckpointFiles validSplitGguf(int32_t tensors = 3);
/// A config.json that every valid folder uses.
std::string validConfig();

} // namespace ingot::test
