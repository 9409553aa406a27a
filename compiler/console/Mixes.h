//===- Mixes.h - What goes with what ----------------------------------------===//
//
// Features that a compilation may have (of its options, of the model) and what each of them needs of the others: the one
// table of what is refused, and why. A compilation is held against it twice, before the model is read and when its sizes
// are known, so that nothing illegal comes as far as a code generator. `ingot doctor --mixes` prints it, and
// tests/tools/mixes.test tries its cells.
//
//   feature                    needs                                 else
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

/// Sizes of a model that something has a limit for; 0 or empty where there is nothing of the kind, or nothing is known.
struct ModelSizes {
  std::vector<int64_t> headWidths; ///< of its paged states
  int64_t experts = 0, expertsUsed = 0, expertGroups = 0;
};

/// What a compilation puts together.
struct Mixture {
  std::string cpu, gpu; ///< the first target of the kind; empty: there is none
  std::string kv;       ///< that was asked for, or empty
  std::string kvLayers; ///< of these layers alone: "0-3"; empty: of all
  bool exact = false, verify = false, madeUp = false;
  ModelSizes model;
};

struct Mix {
  std::string feature, needs;
  const char *code; ///< of the error
  bool (*has)(const Mix &mix, const Mixture &);
  /// What the mixture has instead of what is needed, in its own words; empty: it has that.
  std::string (*lacks)(const Mix &mix, const Mixture &);
  std::string fix;
  KvFormat kv = KvFormat::F32; ///< of a rule for one format
};

/// The table.
const std::vector<Mix> &mixes();

/// The first rule that the mixture breaks, as an error; exit 2.
Result<void> checkMixture(const Mixture &mixture);
/// The same of the caches of single layers, of which `model` has the sizes.
Result<void> checkMixture(const CompileOptions &options, const KvRule &rule, ModelSizes model = {});

/// What these options say, and the sizes.
Mixture mixtureOf(const CompileOptions &options, ModelSizes model = {});

/// `ingot doctor --mixes`: the rules, and the grid of features beside what can be asked for.
std::string mixesText();
/// [{"feature","with","code","why"}], a line for each cell of the grid; code is empty where the two go together.
std::string mixesJson();

} // namespace ingot::compiler
