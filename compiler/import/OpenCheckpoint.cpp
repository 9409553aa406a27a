//===- OpenCheckpoint.cpp - What kind of checkpoint a path names ----------===//
#include "compiler/import/Checkpoint.h"
#include "compiler/import/ConfigJson.h"
#include "compiler/import/ContentHash.h"
#include "compiler/import/DraftBlocks.h"
#include "compiler/import/Folder.h"
#include "compiler/import/Gguf.h"
#include "compiler/import/ImportErrors.h"
#include "compiler/import/Nvfp4.h"
#include "compiler/import/Quantized.h"
#include "compiler/import/Safetensors.h"
#include "compiler/import/SafetensorsIndex.h"
#include "compiler/import/Snapshot.h"
#include "compiler/import/SplitGguf.h"
#include "compiler/import/TextFiles.h"
#include "compiler/import/Wrapper.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace fs = std::filesystem;

namespace ingot::import {

namespace {

using Opened = Result<std::shared_ptr<Checkpoint>>;

constexpr char kConfig[] = "config.json";
constexpr char kSingle[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";

constexpr uint64_t kMaxConfig = uint64_t(16) << 20;
constexpr uint64_t kMaxIndex = uint64_t(64) << 20;

std::string folderOf(const fs::path &path) {
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

/// A file that the user named may lie anywhere; one that was found in a folder must be of it.
enum class Named { ByUser, InFolder };

/// A file, or all parts of a split one; their bytes.
Result<std::vector<std::span<const std::byte>>> readGgufFiles(const fs::path &path, Named named,
                                                              CheckpointBuilder &builder) {
  if (std::optional<SplitName> part = splitName(path.filename().string());
      part && part->count > 1) {
    builder.setName(part->stem);
    return readSplitGguf(folderOf(path), *part, builder);
  }
  builder.setName(path.stem().string());
  Result<std::shared_ptr<const MappedFile>> file =
      named == Named::ByUser ? MappedFile::open(path.string())
                             : Folder(folderOf(path)).open(path.filename().string());
  if (!file)
    return file.error();
  builder.keep(*file);
  if (Result<void> read = readGguf((*file)->bytes(), path.string(), builder); !read)
    return read.error();
  return std::vector{(*file)->bytes()};
}

Opened openGguf(const fs::path &path, Named named) {
  CheckpointBuilder builder(Container::Gguf);
  Result<std::vector<std::span<const std::byte>>> files = readGgufFiles(path, named, builder);
  if (!files)
    return files.error();
  if (Result<void> scaled = attachNvfp4Factors(builder); !scaled)
    return scaled.error();
  unwrapGguf(builder);
  setDraftBlocksAside(builder);
  return builder.finish(hashContent(*files, forgetPages));
}

constexpr char kNative[] = "params.json"; ///< beside consolidated*.safetensors

Error nativeFolder(const Folder &folder) {
  return refuse(cause::nativeFolder,
                line(inQuotes(folder.name()), " is in Mistral's own format, which is not read"),
                line("it has ", kNative, ", and no ", kSingle, " or ", kIndex, " with a ", kConfig,
                     ", which are the 2 files that are read"),
                "download the repository's other files (config.json, model*.safetensors, "
                "tokenizer.json), or convert these: transformers has "
                "convert_mistral_weights_to_hf.py");
}

/// config.json and the text artefacts beside it.
Result<void> readTexts(Folder &folder, const std::string &configName, CheckpointBuilder &builder) {
  if (!folder.has(configName) && folder.has(kNative))
    return nativeFolder(folder);
  if (!folder.has(configName))
    return refuse(cause::configMissing, line("there is no ", configName, " beside the weights"),
                  line(wholePath(folder.pathOf(configName)), " does not exist; 1 is needed"),
                  "download the checkpoint's config.json into the same folder");
  Result<std::shared_ptr<const MappedFile>> config = folder.open(configName, kMaxConfig);
  if (!config)
    return config.error();
  const std::string configPath = folder.pathOf(configName);
  if (Result<void> read = readConfig((*config)->text(), configPath, builder); !read)
    return read;
  if (Result<void> plain = unwrapConfig(builder, configPath); !plain)
    return plain;
  if (Result<void> read = readQuantizeConfig(folder, builder); !read)
    return read;

  Result<TextFiles> text = readTextFiles(folder);
  if (!text)
    return text.error();
  builder.text() = std::move(*text);
  return {};
}

/// Reads one file of weights; returns its tensors' names.
Result<std::vector<std::string>> readWeights(Folder &folder, const std::string &name,
                                             CheckpointBuilder &builder) {
  Result<std::shared_ptr<const MappedFile>> file = folder.open(name);
  if (!file)
    return file.error();
  builder.keep(*file);
  return readSafetensors((*file)->bytes(), folder.pathOf(name), builder);
}

Result<void> readShards(Folder &folder, CheckpointBuilder &builder) {
  Result<std::shared_ptr<const MappedFile>> file = folder.open(kIndex, kMaxIndex);
  if (!file)
    return file.error();
  Result<SafetensorsIndex> index = readSafetensorsIndex((*file)->text(), folder.pathOf(kIndex));
  if (!index)
    return index.error();
  for (const auto &[shard, listed] : index->shards) {
    Result<std::vector<std::string>> found = readWeights(folder, shard, builder);
    if (!found)
      return found.error();
    if (Result<void> same = index->compare(shard, std::move(*found)); !same)
      return same;
  }
  return {};
}

/// What weights have in common once all of them are there.
Opened finishFolder(const Folder &folder, CheckpointBuilder &builder) {
  if (Result<void> read = readQuantized(builder); !read)
    return read.error();
  if (Result<void> plain = unwrapTensors(builder); !plain)
    return plain.error();
  setDraftBlocksAside(builder);
  return builder.finish(hashContent(folder.opened(), forgetPages));
}

/// The GGUF models of a folder: of split ones the first part, and no projectors.
std::vector<std::string> ggufModels(const std::string &path) {
  std::set<std::string> models;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(path, ignored)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(".gguf") || name.find("mmproj") != std::string::npos)
      continue;
    if (std::optional<SplitName> part = splitName(name))
      name = SplitName{part->stem, 1, part->count}.file();
    models.insert(name);
  }
  return {models.begin(), models.end()};
}

Error severalGgufs(const Folder &folder, const std::string &path,
                   const std::vector<std::string> &models) {
  constexpr size_t kShown = 8;
  std::string names;
  for (size_t i = 0; i < std::min(kShown, models.size()); ++i)
    names += (i ? ", " : "") + inQuotes(models[i]);
  return refuse(cause::ambiguousFolder,
                line(fileName(path), " holds ", models.size(), " GGUF models"),
                line(names, models.size() > kShown ? ", …" : "", "; 1 is expected"),
                line("name the one: ", wholePath(folder.pathOf(models.front()))));
}

Error adapterFolder(const std::string &path, size_t entries) {
  return refuse(cause::adapterFolder, line(fileName(path), " holds an adapter, not a model"),
                line("adapter_config.json is among its ", entries, " entries, a model is not"),
                "merge it into its base model: load both with peft, merge_and_unload(), then "
                "save_pretrained()");
}

/// What is in a folder without the expected weights, as advice.
Error noModel(const Folder &folder, const std::string &path) {
  size_t entries = 0;
  bool pickled = false;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(path, ignored)) {
    ++entries;
    std::string name = entry.path().filename().string();
    pickled |= name.ends_with(".bin") || name.ends_with(".pth") || name.ends_with(".pt");
  }
  if (folder.has(kNative))
    return nativeFolder(folder);
  if (folder.has("adapter_config.json"))
    return adapterFolder(path, entries);
  std::string fix = "name a folder with model.safetensors or model.safetensors.index.json";
  if (pickled)
    fix = "convert the pickled weights: load them with transformers, then save_pretrained()";
  else if (folder.has(kConfig))
    fix = "add the weights, or name its config.json with --weights random or --weights seed";
  return refuse(cause::noModelInFolder, line("there are no weights in ", fileName(path)),
                line("neither ", kSingle, " nor ", kIndex, " is among its ", entries, " entries"),
                fix);
}

Opened openFolder(const std::string &path) {
  if (isRepositoryOfSnapshots(path)) {
    Result<std::string> snapshot = snapshotOf(path);
    return snapshot ? openFolder(*snapshot) : Opened(snapshot.error());
  }
  Folder folder(path);
  const bool single = folder.has(kSingle), sharded = folder.has(kIndex);
  if (!single && !sharded) {
    const std::vector<std::string> ggufs = ggufModels(path);
    if (ggufs.size() > 1)
      return severalGgufs(folder, path, ggufs);
    return ggufs.empty() ? noModel(folder, path)
                         : openGguf(folder.pathOf(ggufs.front()), Named::InFolder);
  }
  if (single && sharded)
    return refuse(cause::ambiguousFolder, line(fileName(path), " holds 2 models"),
                  line("both ", kSingle, " and ", kIndex, " are in it; 1 is expected"),
                  "remove one of the two");
  CheckpointBuilder builder(Container::Safetensors);
  builder.setName(folder.name());
  if (Result<void> texts = readTexts(folder, kConfig, builder); !texts)
    return texts.error();
  if (sharded) {
    if (Result<void> shards = readShards(folder, builder); !shards)
      return shards.error();
  } else if (Result<std::vector<std::string>> read = readWeights(folder, kSingle, builder); !read) {
    return read.error();
  }
  return finishFolder(folder, builder);
}

/// A .safetensors file with its config.json beside it.
Opened openSafetensors(const fs::path &path) {
  const std::string parent = folderOf(path);
  Folder folder(parent);
  std::string name = path.filename().string();
  if (!folder.has(name))
    return MappedFile::open(path.string()).error();
  if (name.find("-of-") != std::string::npos && folder.has(kIndex))
    return refuse(cause::ambiguousFolder, line(fileName(name), " is one shard of several"),
                  line("1 file is named, ", kIndex, " is beside it"),
                  line("name the folder: ", wholePath(parent)));
  if (name.starts_with("consolidated") && folder.has(kNative) &&
      (folder.has(kSingle) || folder.has(kIndex)))
    return refuse(cause::ambiguousFolder, line(fileName(name), " is in Mistral's own format"),
                  "the same model in Hugging Face's is beside it: 2 models in 1 folder",
                  line("name the folder: ", wholePath(parent)));
  CheckpointBuilder builder(Container::Safetensors);
  builder.setName(path.stem().string());
  if (Result<void> texts = readTexts(folder, kConfig, builder); !texts)
    return texts.error();
  if (Result<std::vector<std::string>> read = readWeights(folder, name, builder); !read)
    return read.error();
  return finishFolder(folder, builder);
}

/// A configuration alone: shapes without weights (--weights random, --weights seed).
Opened openConfig(const fs::path &path) {
  Folder folder(folderOf(path));
  std::string name = path.filename().string();
  if (!folder.has(name))
    return MappedFile::open(path.string()).error();
  CheckpointBuilder builder(Container::Safetensors);
  builder.setName(name == kConfig ? folder.name() : path.stem().string());
  if (Result<void> texts = readTexts(folder, name, builder); !texts)
    return texts.error();
  return finishFolder(folder, builder);
}

} // namespace

Opened openCheckpoint(const std::string &path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found || status.type() == fs::file_type::none)
    return refuse(cause::cannotOpen, line("cannot open ", fileName(path)),
                  line(wholePath(path), ": ", error ? error.message() : "no such file or folder"),
                  "check the path and its permissions");
  if (fs::is_directory(status))
    return openFolder(path);
  if (path.ends_with(".gguf"))
    return openGguf(path, Named::ByUser);
  if (path.ends_with(".safetensors"))
    return openSafetensors(path);
  if (path.ends_with(".json"))
    return openConfig(path);
  return refuse(cause::unknownKind, line("cannot tell what ", fileName(path), " is"),
                line(wholePath(path), " is no folder and has none of 3 endings: .gguf, "
                                      ".safetensors, .json"),
                "name a checkpoint: a folder, a .gguf, a .safetensors or a config.json");
}

} // namespace ingot::import
