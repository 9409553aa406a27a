//===- SafetensorsIndex.h - Which shard holds which tensor ----------------===//
#pragma once

#include "runtime/error/Error.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::import {

/// The contents of model.safetensors.index.json. "weight_map" maps tensors to shards; this maps shards to tensors.
struct SafetensorsIndex {
  std::map<std::string, std::vector<std::string>, std::less<>> shards; ///< tensor names are sorted

  /// Checks that the tensors listed for `shard` are exactly `found` (E0287, E0288).
  Result<void> compare(const std::string &shard, std::vector<std::string> found) const;
};

/// Errors: not JSON (E0209, E0275, E0276), a missing or malformed weight_map (E0277, E0278), a duplicate
/// tensor (E0213), none (E0224), too many (E0228), a shard name that is a path (E0285).
Result<SafetensorsIndex> readSafetensorsIndex(std::string_view json, const std::string &path);

} // namespace ingot::import
