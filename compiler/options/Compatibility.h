//===- Compatibility.h - Compatibility matrix of features -----------------===//
//
// This is the only table of refused combinations and their reasons. It lists the features that a compilation
// may have (from its options and from the model) and the requirements of each feature on the others. A compilation
// is checked against the table twice: before the model is read, and again when the model's sizes are known. No illegal
// combination therefore reaches a code generator. `ingot doctor --mixes` prints the table, and
// tests/tools/compatibility.test tests its cells.
//
//   feature                    needs                                 error otherwise
//   a KV cache of int8         heads of a multiple of 4 values       E0467
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/formats/KvFormat.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot::compiler {

struct CompileOptions;
struct KvRule;

/// The sizes of a model that have limits; 0 or empty if the model has no such part or the size is not known.
struct ModelSizes {
  std::vector<int64_t> headWidths; ///< widths of heads in its paged states
  int64_t experts = 0, expertsUsed = 0, expertGroups = 0;
};

/// The combination of features in a compilation.
struct Combination {
  std::string cpu, gpu; ///< the first target of each kind; empty: none
  std::string kv;       ///< the requested format, or empty
  std::string kvLayers; ///< the layers that `kv` is for: "0-3"; empty: all
  bool exact = false, verify = false, dummy = false;
  ModelSizes model;
};

struct Requirement {
  std::string feature, needs;
  const char *code; ///< code of the error
  bool (*has)(const Requirement &rule, const Combination &);
  /// Describes what the combination has instead of the required feature. Returns "" if it has the feature.
  std::string (*lacks)(const Requirement &rule, const Combination &);
  std::string fix;
  KvFormat kv = KvFormat::F32; ///< for a rule about one format
};

/// Returns the table.
const std::vector<Requirement> &requirements();

/// Checks a combination. Returns the first rule that it breaks as an error with exit 2.
Result<void> checkCompatibility(const Combination &combination);
/// Checks the caches of single layers in the same way; `model` has the sizes of those layers.
Result<void> checkCompatibility(const CompileOptions &options, const KvRule &rule,
                                ModelSizes model = {});

/// Returns the combination that these options and sizes make.
Combination combinationOf(const CompileOptions &options, ModelSizes model = {});

/// Returns the text of `ingot doctor --mixes`: the rules, and the grid of features against options.
std::string compatibilityText();
/// Returns a JSON array with an object {"feature","with","code","why"} for each cell of the grid, one per line. `code`
/// is empty if the feature and the option are compatible.
std::string compatibilityJson();

} // namespace ingot::compiler
