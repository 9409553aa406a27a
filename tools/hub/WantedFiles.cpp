//===- WantedFiles.cpp - See WantedFiles.h --------------------------------===//
#include "tools/hub/WantedFiles.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <simdjson.h>

namespace ingot::hub {

namespace {

constexpr char kSingle[] = "model.safetensors", kIndex[] = "model.safetensors.index.json";
constexpr size_t kMostListed = 40; ///< files listed in an error

bool isText(const std::string &path) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "config.json",         "generation_config.json",  "vocab.json",
      "merges.txt",          "special_tokens_map.json", "added_tokens.json",
      "chat_template.json",  "chat_template.jinja",     "tekken.json",
      "tiktoken.model",      "quantize_config.json",    "quant_config.json",
      "hf_quant_config.json"};
  constexpr std::string_view kTemplates = "additional_chat_templates/";
  if (path.starts_with(kTemplates))
    return path.ends_with(".jinja") && path.find('/', kTemplates.size()) == std::string::npos;
  return std::ranges::find(kNames, path) != kNames.end() ||
         (path.starts_with("tokenizer") && path.find('/') == std::string::npos &&
          !path.ends_with(".bin"));
}

/// The parts of the name of a split file: "x-00002-of-00003.gguf" gives "x", ".gguf" and 3.
struct Split {
  std::string stem, ending;
  int parts = 0;
};

std::optional<Split> splitOf(const std::string &path, const std::string &ending) {
  constexpr size_t kTail = 15; // "-00002-of-00003"
  if (!path.ends_with(ending) || path.size() < kTail + ending.size())
    return std::nullopt;
  const size_t at = path.size() - ending.size() - kTail;
  int part = 0, parts = 0, read = 0;
  if (std::sscanf(path.c_str() + at, "-%5d-of-%5d%n", &part, &parts, &read) != 2 ||
      read != static_cast<int>(kTail) || part < 1 || parts < part)
    return std::nullopt;
  return Split{path.substr(0, at), ending, parts};
}

std::string partOf(const Split &split, int part) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "-%05d-of-%05d", part, split.parts);
  return split.stem + digits + split.ending;
}

/// Returns all parts of a GGUF; just the GGUF itself if it is not split.
std::vector<std::string> partsOf(const std::string &gguf) {
  const auto split = splitOf(gguf, ".gguf");
  if (!split)
    return {gguf};
  std::vector<std::string> parts;
  for (int part = 1; part <= split->parts; ++part)
    parts.push_back(partOf(*split, part));
  return parts;
}

/// Returns the first part without building the whole list: a file name may claim a hundred thousand
/// parts.
std::string firstPartOf(const std::string &gguf) {
  const auto split = splitOf(gguf, ".gguf");
  return split ? partOf(*split, 1) : gguf;
}

/// Returns whether a GGUF holds a language model, not an image projector or a quantiser's statistics.
bool isModelGguf(const std::string &path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return name.ends_with(".gguf") && !name.starts_with("mmproj") && !name.starts_with("imatrix") &&
         name.find("-imatrix.") == std::string::npos;
}

/// Returns whether `path` is a top-level safetensors file with an unusual name that may be a whole model.
bool isOtherSafetensors(const std::string &path) {
  return path.ends_with(".safetensors") && path.find('/') == std::string::npos &&
         !path.starts_with("consolidated") && !path.starts_with("adapter_") && path != kSingle &&
         !splitOf(path, ".safetensors");
}

/// Returns the models among the GGUFs, keyed by first part, with the total bytes of their parts.
std::map<std::string, std::optional<uint64_t>> modelsAmong(const std::vector<ListedFile> &files) {
  std::map<std::string, std::optional<uint64_t>> models;
  for (const ListedFile &file : files) {
    if (!isModelGguf(file.path))
      continue;
    auto [model, isNew] = models.try_emplace(firstPartOf(file.path), 0);
    if (model->second)
      model->second = file.bytes ? std::optional(*model->second + *file.bytes) : std::nullopt;
  }
  return models;
}

std::string listOf(const std::map<std::string, std::optional<uint64_t>> &models) {
  std::string text;
  size_t listed = 0;
  for (const auto &[path, bytes] : models) {
    if (++listed > kMostListed)
      return text + "\n  and " + std::to_string(models.size() - kMostListed) + " more";
    text +=
        (text.empty() ? "" : "\n  ") + path + (bytes ? "  (" + readableBytes(*bytes) + ")" : "");
  }
  return text;
}

Result<WantedFiles> wantedGguf(const Reference &reference, const std::vector<ListedFile> &files,
                               const std::set<std::string> &paths) {
  const auto models = modelsAmong(files);
  const std::string known = "hf:" + reference.repository +
                            (reference.revisionGiven ? "@" + reference.revision : "") + ":";
  if (reference.file.empty() && models.size() > 1)
    return Error{ExitCode::Usage, "E0156",
                 reference.text() + " has " + std::to_string(models.size()) + " GGUF files",
                 listOf(models), "choose one: " + known + models.begin()->first};
  WantedFiles wanted;
  const std::vector<std::string> parts =
      partsOf(reference.file.empty() ? models.begin()->first : reference.file);
  for (const std::string &part : parts)
    if (!paths.contains(part))
      return Error{ExitCode::File, errors::kHubLacks,
                   "there is no " + part + " in hf:" + reference.repository,
                   models.empty() ? "it has no GGUF at all" : "it has\n  " + listOf(models),
                   models.empty() ? "omit the file name: hf:" + reference.repository
                                  : "choose one: " + known + models.begin()->first};
  wanted.weights = parts;
  wanted.opened = parts.front();
  return wanted;
}

/// Returns the error for a repository without usable weights; it names what the repository has
/// instead.
Error noWeights(const Reference &reference, const std::set<std::string> &paths) {
  auto any = [&](auto holds) { return std::ranges::any_of(paths, holds); };
  std::string why =
      "its " + std::to_string(paths.size()) +
      " files contain neither model.safetensors, nor shards with an index, nor a GGUF";
  std::string fix = "look for a repository of the same model with safetensors or GGUF";
  if (paths.contains("adapter_config.json"))
    fix = "it is an adapter (LoRA): merge it into its base model with peft, and save that";
  else if (any([](const std::string &path) {
             return path.ends_with(".bin") || path.ends_with(".pth");
           }))
    fix =
        "its weights are pickled: load them with transformers, then save_pretrained() writes safetensors";
  return {ExitCode::File, "E0157", "there are no weights to compile in " + reference.text(), why,
          fix};
}

} // namespace

std::string readableBytes(uint64_t bytes) {
  const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

Result<WantedFiles> wantedFiles(const Reference &reference, const std::vector<ListedFile> &files) {
  std::set<std::string> paths;
  for (const ListedFile &file : files)
    paths.insert(file.path);
  if (!reference.file.empty())
    return wantedGguf(reference, files, paths);

  WantedFiles wanted;
  std::ranges::copy_if(paths, std::back_inserter(wanted.texts), isText);
  if (paths.contains(kIndex)) {
    wanted.index = kIndex;
    wanted.texts.emplace_back(kIndex);
    return wanted;
  }
  if (paths.contains(kSingle)) {
    wanted.weights = {kSingle};
    return wanted;
  }
  std::vector<std::string> others;
  std::ranges::copy_if(paths, std::back_inserter(others), isOtherSafetensors);
  if (others.size() == 1 && paths.contains("config.json")) {
    wanted.weights = others;
    wanted.opened = others.front();
    return wanted;
  }
  if (!modelsAmong(files).empty())
    return wantedGguf(reference, files, paths);
  return noWeights(reference, paths);
}

Result<std::vector<std::string>> shardsOf(const std::string &indexJson, const std::string &where) {
  auto odd = [&](const std::string &why) {
    return Error{ExitCode::File, "E0175", where + " cannot be used", why,
                 "remove it and fetch it again, or name another revision"};
  };
  simdjson::dom::parser parser;
  simdjson::dom::object map;
  if (parser.parse(indexJson)["weight_map"].get(map))
    return odd("it is not JSON with a \"weight_map\"");
  std::set<std::string> shards;
  for (auto [tensor, value] : map) {
    std::string_view shard;
    if (value.get(shard) || !isPlainPath(shard) || shard.find('/') != std::string_view::npos)
      return odd("a tensor's shard is not a valid file name");
    shards.emplace(shard);
  }
  if (shards.empty())
    return odd("it lists no shards");
  return std::vector<std::string>(shards.begin(), shards.end());
}

} // namespace ingot::hub
