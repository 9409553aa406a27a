//===- SafetensorsIndex.h - Which shard holds which tensor ----------------===//
#pragma once

#include "runtime/error/Error.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::import {

/// model.safetensors.index.json: the "weight_map" turned round, shard -> its tensors.
struct SafetensorsIndex {
  std::map<std::string, std::vector<std::string>, std::less<>> shards; ///< tensors sorted

  /// The listed tensors of `shard` must be exactly `found` (E0287, E0288).
  Result<void> compare(const std::string &shard, std::vector<std::string> found) const;
};

/// Errors: not JSON (E0209, E0275, E0276), no or odd weight_map (E0277, E0278), a tensor
/// twice (E0213), none (E0224), too many (E0228), a shard's name that is a path (E0285).
Result<SafetensorsIndex> readSafetensorsIndex(std::string_view json, const std::string &path);

} // namespace ingot::import
