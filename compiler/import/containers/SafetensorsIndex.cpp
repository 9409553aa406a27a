//===- SafetensorsIndex.cpp - Names from a file, never paths --------------===//
#include "compiler/import/containers/SafetensorsIndex.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/files/Json.h"

#include <algorithm>
#include <set>

namespace ingot::import {

Result<void> SafetensorsIndex::compare(const std::string &shard,
                                       std::vector<std::string> found) const {
  const std::vector<std::string> &listed = shards.find(shard)->second;
  std::sort(found.begin(), found.end());
  std::vector<std::string> difference;
  std::set_difference(listed.begin(), listed.end(), found.begin(), found.end(),
                      std::back_inserter(difference));
  if (!difference.empty())
    return refuse(
        cause::indexTensorMissing,
        line("the shard ", inQuotes(shard), " lacks the tensor ", inQuotes(difference.front())),
        line("the index lists ", listed.size(), " tensors for it, ", difference.size(),
             " of them are missing"),
        "take index and shards from one revision of the model: they do not belong together");
  std::set_difference(found.begin(), found.end(), listed.begin(), listed.end(),
                      std::back_inserter(difference));
  if (!difference.empty())
    return refuse(
        cause::indexTensorUnlisted,
        line("the shard ", inQuotes(shard), " has the unlisted tensor ",
             inQuotes(difference.front())),
        line("it has ", found.size(), " tensors, the index lists ", listed.size()),
        "take index and shards from one revision of the model: they do not belong together");
  return {};
}

/// Returns whether `name` is a plain file name ending in .safetensors: no folder, no "..", no unusual characters.
static bool isShardName(std::string_view name) {
  return name.ends_with(".safetensors") && name.size() <= 255 && !name.starts_with('.') &&
         name.find('/') == std::string_view::npos && isPlainName(name);
}

Result<SafetensorsIndex> readSafetensorsIndex(std::string_view json, const std::string &path) {
  constexpr size_t kMaxTensors = 65536;
  Result<std::unique_ptr<JsonDocument>> document = parseJson(json, path);
  if (!document)
    return document.error();
  simdjson::dom::object root, map;
  if ((*document)->root.get_object().get(root) != simdjson::SUCCESS)
    return jsonWrongType(path, "(the whole file)", "an object", (*document)->root);
  simdjson::dom::element weightMap;
  if (root.at_key("weight_map").get(weightMap) != simdjson::SUCCESS)
    return refuse(cause::jsonFieldMissing, line(fileName(path), " has no 'weight_map'"),
                  line("it has ", root.size(), " other keys"),
                  "replace it with the model's own, or remove it and name the file of weights");
  if (weightMap.get_object().get(map) != simdjson::SUCCESS)
    return jsonWrongType(path, "weight_map", "an object", weightMap);

  SafetensorsIndex index;
  std::set<std::string_view> seen;
  for (auto [tensor, value] : map) {
    std::string_view shard;
    if (value.get_string().get(shard) != simdjson::SUCCESS)
      return jsonWrongType(path, line("weight_map.", tensor), "a string", value);
    if (!isShardName(shard))
      return refuse(cause::shardName, line(fileName(path), " has an invalid file name"),
                    line(inQuotes(shard), " for ", inQuotes(tensor),
                         "; expected a plain name of 1 to 255 bytes that ends in .safetensors"),
                    "correct the index: shards must be in the same folder");
    if (!seen.insert(tensor).second)
      return refuse(cause::tensorTwice, line("the tensor ", inQuotes(tensor), " is listed twice"),
                    line("again as entry ", seen.size(), " of ", fileName(path)),
                    "replace the index with the model's own");
    if (seen.size() > kMaxTensors)
      return refuse(cause::tooManyTensors, line(fileName(path), " lists too many tensors"),
                    line("more than ", kMaxTensors), "replace it with the model's own");
    index.shards[std::string(shard)].emplace_back(tensor);
  }
  if (seen.empty())
    return refuse(cause::noTensors, line(fileName(path), " lists no tensors"),
                  "'weight_map' has 0 entries",
                  "replace it with the model's own, or remove it and name the file of weights");
  for (auto &[shard, tensors] : index.shards)
    std::sort(tensors.begin(), tensors.end());
  return index;
}

} // namespace ingot::import
