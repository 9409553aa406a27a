//===- OpenCheckpoint.cpp - See OpenCheckpoint.h --------------------------===//
#include "compiler/import/OpenCheckpoint.h"

#include "compiler/import/config/ConfigJson.h"
#include "compiler/import/config/DraftBlocks.h"
#include "compiler/import/config/TextFiles.h"
#include "compiler/import/config/Wrapper.h"
#include "compiler/import/containers/Gguf.h"
#include "compiler/import/containers/Safetensors.h"
#include "compiler/import/containers/SafetensorsIndex.h"
#include "compiler/import/containers/SplitGguf.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/files/ContentHash.h"
#include "compiler/import/files/FileKind.h"
#include "compiler/import/files/Folder.h"
#include "compiler/import/files/Snapshot.h"
#include "compiler/import/methods/Nvfp4.h"
#include "compiler/import/methods/Quantized.h"

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

std::string hashOf(std::vector<std::span<const std::byte>> files, Hashed hashed) {
  constexpr size_t kOfEach = size_t(1) << 20;
  for (std::span<const std::byte> &file : files)
    if (hashed == Hashed::Beginnings)
      file = file.first(std::min(kOfEach, file.size()));
  return hashContent(files, forgetPages);
}

/// A file that the user named may be anywhere; a file found in a folder must belong to the folder.
enum class Named { ByUser, InFolder };

/// Reads a file, or all parts of a split model; returns their bytes.
Result<std::vector<std::span<const std::byte>>> readGgufFiles(const fs::path &path, Named named,
                                                              CheckpointBuilder &builder) {
  Result<std::shared_ptr<const MappedFile>> file =
      named == Named::ByUser ? MappedFile::open(path.string())
                             : Folder(folderOf(path)).open(path.filename().string());
  const std::optional<SplitName> part = splitName(path.filename().string());
  if (part && part->count > 1) {
    // A merged file may have kept the name of a part.
    const Result<GgufHead> head =
        file ? readGgufHead((*file)->bytes(), path.string()) : file.error();
    if (!head || head->part.count > 1) {
      builder.setName(part->stem);
      return readSplitGguf(folderOf(path), *part, builder);
    }
  }
  if (!file)
    return file.error();
  builder.setName(path.stem().string());
  builder.keep(*file);
  if (Result<void> read = readGguf((*file)->bytes(), path.string(), builder); !read)
    return read.error();
  return std::vector{(*file)->bytes()};
}

Opened openGguf(const fs::path &path, Named named, Hashed hashed) {
  CheckpointBuilder builder(Container::Gguf);
  Result<std::vector<std::span<const std::byte>>> files = readGgufFiles(path, named, builder);
  if (!files)
    return files.error();
  if (Result<void> scaled = attachNvfp4Factors(builder); !scaled)
    return scaled.error();
  unwrapGguf(builder);
  setDraftBlocksAside(builder);
  return builder.finish(hashOf(std::move(*files), hashed));
}

constexpr char kNative[] = "params.json"; ///< comes with consolidated*.safetensors

Error nativeFolder(const Folder &folder) {
  return refuse(
      cause::nativeFolder,
      line(inQuotes(folder.name()), " is in Mistral's own format, which is not supported"),
      line("it has ", kNative, ", but neither ", kSingle, " nor ", kIndex, " with a ", kConfig),
      "download the repository's other files (config.json, model*.safetensors, "
      "tokenizer.json), or convert these: transformers has "
      "convert_mistral_weights_to_hf.py");
}

/// Reads config.json and the text artefacts in the same folder.
Result<void> readTexts(Folder &folder, const std::string &configName, CheckpointBuilder &builder) {
  if (!folder.has(configName) && folder.has(kNative))
    return nativeFolder(folder);
  if (!folder.has(configName))
    return refuse(cause::configMissing, line("there is no ", configName, " next to the weights"),
                  line(wholePath(folder.pathOf(configName)), " does not exist"),
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

/// Reads one file of weights; returns the names of its tensors.
Result<std::vector<std::string>> readWeights(Folder &folder, const std::string &name,
                                             CheckpointBuilder &builder) {
  Result<std::shared_ptr<const MappedFile>> file = folder.open(name);
  if (!file)
    return file.error();
  builder.keep(*file);
  builder.addWeightFile(folder.pathOf(name));
  return readSafetensors((*file)->bytes(), folder.pathOf(name), builder);
}

Result<SafetensorsIndex> readIndex(Folder &folder, const std::string &name) {
  Result<std::shared_ptr<const MappedFile>> file = folder.open(name, kMaxIndex);
  if (!file)
    return file.error();
  return readSafetensorsIndex((*file)->text(), folder.pathOf(name));
}

Result<void> readShards(Folder &folder, const SafetensorsIndex &index, CheckpointBuilder &builder) {
  for (const auto &[shard, listed] : index.shards) {
    Result<std::vector<std::string>> found = readWeights(folder, shard, builder);
    if (!found)
      return found.error();
    if (index.shards.size() == 1)
      return {}; // an index of one file adds nothing to the file itself
    if (Result<void> same = index.compare(shard, std::move(*found)); !same)
      return same;
  }
  return {};
}

/// Returns whether two sets of weights are identical: the same names, types, shapes and bytes.
bool areSame(CheckpointBuilder &one, CheckpointBuilder &other) {
  const RawTensors ours(one), theirs(other);
  return std::ranges::equal(ours.all(), theirs.all(), [](const auto &a, const auto &b) {
    return a.second.name == b.second.name && a.second.dtype == b.second.dtype &&
           a.second.shape == b.second.shape && std::ranges::equal(a.second.data, b.second.data);
  });
}

/// Returns the reason why the index next to model.safetensors is ignored, or an empty string if it lists
/// model.safetensors itself. Errors: E0291: the index describes another model.
Result<std::string> whyIndexIsPassedOver(Folder &folder) {
  const Result<SafetensorsIndex> index = readIndex(folder, kIndex);
  if (!index)
    return line("it cannot be read (", index.error().what, ")");
  if (index->shards.contains(kSingle))
    return std::string();
  for (const auto &[shard, tensors] : index->shards)
    if (!folder.has(shard))
      return line("it lists ", index->shards.size(), " files, of which ", inQuotes(shard),
                  " does not exist");
  CheckpointBuilder single(Container::Safetensors), sharded(Container::Safetensors);
  if (Result<std::vector<std::string>> read = readWeights(folder, kSingle, single); !read)
    return read.error();
  if (Result<void> read = readShards(folder, *index, sharded); !read)
    return line("the files that it lists cannot be read (", read.error().what, ")");
  if (areSame(single, sharded))
    return line("the ", index->shards.size(), " files that it lists hold the same tensors");
  return refuse(cause::ambiguousFolder, line(inQuotes(folder.name()), " contains 2 models"),
                line(kSingle, " and the ", index->shards.size(), " files of ", kIndex,
                     " differ; expected 1 model"),
                line("name one of them: ", wholePath(folder.pathOf(kSingle)), " or ",
                     wholePath(folder.pathOf(kIndex))));
}

/// Does the steps that all folders have in common, after the weights are listed.
Opened finishFolder(const Folder &folder, CheckpointBuilder &builder, Hashed hashed) {
  if (Result<void> read = readQuantized(builder); !read)
    return read.error();
  if (Result<void> plain = unwrapTensors(builder); !plain)
    return plain.error();
  setDraftBlocksAside(builder);
  return builder.finish(hashOf(folder.opened(), hashed));
}

/// Returns the GGUF models of a folder. For a split model, it returns the first part. If there is no model, it returns
/// one file that is a projector, an adapter or a vocabulary, or that is GGUF only by name. Opening that file then
/// reports what it is.
std::vector<std::string> ggufModels(const std::string &path) {
  std::set<std::string> models, others, byName;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(path, ignored)) {
    std::string name = entry.path().filename().string();
    if (fileKind(entry.path().string()) != FileKind::Gguf) {
      if (name.ends_with(".gguf"))
        byName.insert(name);
      continue;
    }
    const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(entry.path().string());
    const Result<GgufHead> head =
        file ? readGgufHead((*file)->bytes(), entry.path().string()) : file.error();
    const bool isModel = !head || !head->notModel; // a damaged file is reported when it is opened
    if (std::optional<SplitName> part = splitName(name); part && (!head || head->part.count > 1))
      name = SplitName{part->stem, 1, part->count}.file();
    (isModel && name.find("mmproj") == std::string::npos ? models : others).insert(name);
  }
  for (std::set<std::string> *instead : {&others, &byName})
    if (models.empty() && !instead->empty())
      models = {*instead->begin()};
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
                line(names, models.size() > kShown ? ", …" : "", "; expected 1"),
                line("name one of them: ", wholePath(folder.pathOf(models.front()))));
}

Error adapterFolder(const std::string &path, size_t entries) {
  return refuse(cause::adapterFolder, line(fileName(path), " contains an adapter, not a model"),
                line("adapter_config.json is among its ", entries, " entries, but no model is"),
                "merge it into its base model: load both with peft, merge_and_unload(), then "
                "save_pretrained()");
}

/// Returns the error for a folder without the expected weights, with advice that depends on the folder's contents.
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

/// Opens the weights listed in an index.
Opened openSharded(Folder folder, const std::string &indexName, Hashed hashed) {
  CheckpointBuilder builder(Container::Safetensors);
  builder.setName(folder.name());
  if (Result<void> texts = readTexts(folder, kConfig, builder); !texts)
    return texts.error();
  const Result<SafetensorsIndex> index = readIndex(folder, indexName);
  if (!index)
    return index.error();
  if (Result<void> shards = readShards(folder, *index, builder); !shards)
    return shards.error();
  return finishFolder(folder, builder, hashed);
}

/// Opens the weights of one file; `note`, if not empty, is a remark about them.
Opened openSingle(Folder folder, const std::string &weights, std::string name, Hashed hashed,
                  const std::string &note = "") {
  CheckpointBuilder builder(Container::Safetensors);
  builder.setName(std::move(name));
  if (Result<void> texts = readTexts(folder, kConfig, builder); !texts)
    return texts.error();
  if (Result<std::vector<std::string>> read = readWeights(folder, weights, builder); !read)
    return read.error();
  if (!note.empty())
    builder.note(note);
  return finishFolder(folder, builder, hashed);
}

/// Returns the only safetensors file of a folder that has no model.safetensors, as early GPTQ programs wrote it.
/// Returns an empty string if there are none or several. Adapters, shards and Mistral's own files do not count.
std::string onlySafetensors(const std::string &path) {
  std::string only;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".safetensors") || name.starts_with("consolidated") ||
        name.starts_with("adapter") ||
        (name.find("-of-") != std::string::npos && !name.ends_with("-00001-of-00001.safetensors")))
      continue;
    if (!only.empty())
      return "";
    only = name;
  }
  return only;
}

Opened openFolder(const std::string &path, Hashed hashed) {
  if (isRepositoryOfSnapshots(path)) {
    Result<std::string> snapshot = snapshotOf(path);
    return snapshot ? openFolder(*snapshot, hashed) : Opened(snapshot.error());
  }
  Folder folder(path);
  const bool single = folder.has(kSingle), sharded = folder.has(kIndex);
  if (!single && !sharded) {
    const std::vector<std::string> ggufs = ggufModels(path);
    if (const std::string only = onlySafetensors(path);
        ggufs.empty() && !only.empty() && folder.has(kConfig))
      return openSingle(folder, only, folder.name(), hashed);
    if (ggufs.size() > 1)
      return severalGgufs(folder, path, ggufs);
    return ggufs.empty() ? noModel(folder, path)
                         : openGguf(folder.pathOf(ggufs.front()), Named::InFolder, hashed);
  }
  if (!single)
    return openSharded(folder, kIndex, hashed);
  std::string note;
  if (sharded) {
    Folder looking(path); // files opened here are not part of the checkpoint
    const Result<std::string> why = whyIndexIsPassedOver(looking);
    if (!why)
      return why.error();
    if (why->empty())
      return openSharded(folder, kIndex, hashed);
    note = line(kIndex, " is ignored: ", *why);
  }
  return openSingle(folder, kSingle, folder.name(), hashed, note);
}

/// Returns whether a file is one of several shards listed by an index in its folder.
bool isOneOfSeveral(Folder &folder, const std::string &name) {
  if (!folder.has(kIndex))
    return false;
  const Result<SafetensorsIndex> index = readIndex(folder, kIndex);
  return index && index->shards.size() > 1 && index->shards.contains(name);
}

/// Opens a .safetensors file with a config.json in the same folder.
Opened openSafetensors(const fs::path &path, Hashed hashed) {
  const std::string parent = folderOf(path);
  Folder folder(parent), looking(parent);
  std::string name = path.filename().string();
  if (!folder.has(name))
    return MappedFile::open(path.string()).error();
  if (isOneOfSeveral(looking, name))
    return refuse(cause::ambiguousFolder, line(fileName(name), " is one shard of several"),
                  line("1 file is named, but ", kIndex, " is in the same folder"),
                  line("name the folder: ", wholePath(parent)));
  if (name.starts_with("consolidated") && folder.has(kNative) &&
      (folder.has(kSingle) || folder.has(kIndex)))
    return refuse(
        cause::ambiguousFolder, line(fileName(name), " is in Mistral's own format"),
        "the same folder has the model in Hugging Face's format, too: 2 models in 1 folder",
        line("name the folder: ", wholePath(parent)));
  return openSingle(folder, name, path.stem().string(), hashed);
}

/// Opens only a configuration, which has shapes but no weights (--weights random, --weights seed).
Opened openConfig(const fs::path &path, Hashed hashed) {
  Folder folder(folderOf(path));
  std::string name = path.filename().string();
  if (!folder.has(name))
    return MappedFile::open(path.string()).error();
  CheckpointBuilder builder(Container::Safetensors);
  builder.setName(name == kConfig ? folder.name() : path.stem().string());
  if (Result<void> texts = readTexts(folder, name, builder); !texts)
    return texts.error();
  return finishFolder(folder, builder, hashed);
}

/// Returns the error for a file of a kind that is not supported.
Error unknownFile(const std::string &path, const fs::file_status &status) {
  Error unknown = refuse(
      cause::unknownKind, line("unknown kind of checkpoint: ", fileName(path)),
      line(
          wholePath(path),
          " is not a folder, is neither GGUF, safetensors nor JSON by content, and does not end in "
          ".gguf, .safetensors or .json"),
      "name a checkpoint: a folder, a GGUF, a safetensors file or a config.json");
  if (!fs::is_regular_file(status))
    return unknown;
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  return file ? withOtherFile(std::move(unknown), (*file)->text().substr(0, 64)) : unknown;
}

} // namespace

Opened openCheckpoint(const std::string &path, Hashed hashed) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found || status.type() == fs::file_type::none)
    return refuse(cause::cannotOpen, line("cannot open ", fileName(path)),
                  line(wholePath(path), ": ", error ? error.message() : "no such file or folder"),
                  "check the path and its permissions");
  if (fs::is_directory(status))
    return openFolder(path, hashed);
  // If the first bytes do not show the kind of the file, its name decides. The reader of that kind then reports what is
  // wrong with the file.
  const FileKind kind = fileKind(path);
  const auto is = [&](FileKind wanted, std::string_view ending) {
    return kind == wanted || (kind == FileKind::Other && path.ends_with(ending));
  };
  if (is(FileKind::Gguf, ".gguf"))
    return openGguf(path, Named::ByUser, hashed);
  if (is(FileKind::Safetensors, ".safetensors"))
    return openSafetensors(path, hashed);
  if (is(FileKind::Json, ".json") && path.ends_with(".safetensors.index.json"))
    return openSharded(Folder(folderOf(path)), fs::path(path).filename().string(), hashed);
  if (is(FileKind::Json, ".json"))
    return openConfig(path, hashed);
  return unknownFile(path, status);
}

} // namespace ingot::import
