//===- KvLayers.h - KV caches of single layers -------------------------------===//
//
//   --kv int4 --kv 0-3,28-=bf16 --kv window=int8
//
//   kv = "int4"
//   kv-layers = [ { layers = "0-3, 28-", format = "bf16" }, { layers = "window", format = "int8" } ]
//
// Layers are counted from 0. What names a layer is its number, a range of numbers, or what its attention sees: a window, or
// all positions (global). No layer is named twice, and those that are not named have what `kv` says.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/formats/KvFormat.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot::compiler {

/// Layers that are named at once: a range, or all of a kind.
struct LayerRange {
  enum class Kind { Numbers, Window, Global } kind = Kind::Numbers;
  int64_t first = 0;
  std::optional<int64_t> last; ///< absent: to the last layer
  std::string text;            ///< as given: "28-"
};

/// What was asked for some layers.
struct KvRule {
  std::vector<LayerRange> ranges;
  std::string layers; ///< their texts: "0-3,28-"
  KvFormat format;
  std::string place; ///< in a recipe: "r.toml, line 3, column 5"; empty: it was typed
};

/// Of "0-3,28-" and "bf16". E0403: there is no such format; E0458: that names no layers.
Result<KvRule> kvRule(const std::string &layers, const std::string &format, std::string place = "");

/// What a layer keeps of positions.
struct LayerCache {
  std::vector<int64_t> widths; ///< of the vectors in its paged states; empty: it has no KV cache
  int64_t window = 0;          ///< of its reader; 0: all positions
};

/// What was asked for each layer, if anything was. E0459: a rule does not fit the model: no such layer, none with a cache, or
/// a layer that is named before.
Result<std::vector<std::optional<KvFormat>>> askedCaches(const std::vector<KvRule> &rules,
                                                         const std::vector<LayerCache> &layers);

/// "0-3,7": numbers that rise, in ranges.
std::string layersText(const std::vector<int64_t> &layers);

} // namespace ingot::compiler
