//===- CheckpointFiles.h - In-memory description of checkpoints for tests ----===//
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ingot::test {

/// The files of a checkpoint and the path to open.
struct CheckpointFiles {
  std::string name = {};                         ///< unique name of the kind: "tensor-twice"
  std::string code = {};                         ///< the expected error; empty if valid
  std::string open = {};                         ///< path passed to the importer; "" is the folder
  std::map<std::string, std::string> files = {}; ///< by name
  std::map<std::string, std::string> links = {}; ///< symbolic links: name -> target
  std::vector<std::string> pipes = {};
};

/// Writes the files below `folder` (created if needed) and returns the path to open. Ends the
/// program on failure, because a test's set-up has no way to handle errors.
std::string writeCheckpoint(const CheckpointFiles &checkpoint, const std::string &folder);

/// Return bad checkpoints of every kind. No error code occurs twice in a list.
std::vector<CheckpointFiles> badGgufFiles();
std::vector<CheckpointFiles> badSafetensorsFiles();

/// Return a valid folder (config.json, tokenizer files, two shards or one file).
CheckpointFiles validFolder();
CheckpointFiles validShardedFolder();
/// Returns GgufImage::valid() split into three parts, "m-00001-of-00003.gguf" and so on. The first part has no tensors.
/// `tensors` is the total count that each part declares. The path to open is the folder.
CheckpointFiles validSplitGguf(int32_t tensors = 3);
/// Returns a config.json that every valid folder uses.
std::string validConfig();

} // namespace ingot::test
