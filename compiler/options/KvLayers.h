//===- KvLayers.h - KV caches of single layers -------------------------------===//
//
//   --kv int4 --kv 0-3,28-=bf16 --kv window=int8
//
//   kv = "int4"
//   kv-layers = [ { layers = "0-3, 28-", format = "bf16" }, { layers = "window", format = "int8" } ]
//
// Layers are counted from 0. A rule names layers by index, by a range of indices, or by the reach of their attention: a
// window, or all positions (global). No layer may be named twice. Layers that no rule names have the format of `kv`.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/formats/KvFormat.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot::compiler {

/// A group of layers: a range, or all layers of a kind.
struct LayerRange {
  enum class Kind { Numbers, Window, Global } kind = Kind::Numbers;
  int64_t first = 0;
  std::optional<int64_t> last; ///< absent: to the last layer
  std::string text;            ///< as given: "28-"
};

/// The requested format for some layers.
struct KvRule {
  std::vector<LayerRange> ranges;
  std::string layers; ///< text of the ranges: "0-3,28-"
  KvFormat format;
  std::string place; ///< in a recipe: "r.toml, line 3, column 5"; empty: from the command line
};

/// Makes a rule from "0-3,28-" and "bf16". Errors: E0403: there is no such format; E0458: the text does not
/// name layers.
Result<KvRule> kvRule(const std::string &layers, const std::string &format, std::string place = "");

/// The KV cache of a layer.
struct LayerCache {
  std::vector<int64_t> widths; ///< widths of the vectors in its paged states; empty: no KV cache
  int64_t window = 0;          ///< attention window of its reader; 0: all positions
};

/// Returns the requested format of each layer, if any. Errors: E0459: a rule does not fit the model, because
/// a layer does not exist, has no cache or is named twice.
Result<std::vector<std::optional<KvFormat>>> askedCaches(const std::vector<KvRule> &rules,
                                                         const std::vector<LayerCache> &layers);

/// Formats ascending indices as ranges: "0-3,7".
std::string layersText(const std::vector<int64_t> &layers);

} // namespace ingot::compiler
