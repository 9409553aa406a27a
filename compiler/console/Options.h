//===- Options.h - What `ingot compile` is told ---------------------------===//
#pragma once

#include "compiler/console/ExtensionPoints.h"
#include "compiler/console/KvLayers.h"
#include "runtime/error/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot::compiler {

/// What a compilation goes through. Of each the IR can be written, and taken up again.
enum class Phase { Checkpoint, Lm, Fused, Kernel, Plan };

/// Lowered is the IR of Phase::Kernel, whole; Kernel what each kernel of the plan computes.
enum class Emit { Engine, Lm, Fused, Lowered, Kernel, Plan, Llvm, Asm, Cuda, Rows };

/// Where the numbers of the weights come from.
enum class WeightOrigin {
  Checkpoint,
  Random, ///< made from the seed and packed (runtime/formats/SeedWeights.h)
  Seed,   ///< the same numbers, made by the device at load
};

struct CompileOptions {
  std::string model;
  std::string output;                  ///< empty with --emit of text: standard output
  std::vector<std::string> targets;    ///< "avx2", "avx512": CPU levels, in that order
  std::vector<std::string> gpuTargets; ///< "cuda:sm_90a", "cuda:compute_80", "cuda-emulator:sm_90a"
  std::string quantize;                ///< numeric format ("int4_g64"), or empty
  std::vector<std::string> recipe;     ///< "GLOB:FORMAT" over weight symbols, from --recipe
  std::vector<std::string> recipePlaces; ///< of each rule: "r.toml, line 3, column 5"
  std::string recipeFile;
  std::string writeRecipe;        ///< file that gets the recipe of these options, or empty
  Phase from = Phase::Checkpoint; ///< of which fromFile has the IR
  std::string fromFile;
  std::vector<PatternsAt> patterns; ///< applied in this order
  std::vector<std::string> plugins; ///< shared objects with passes
  std::vector<std::pair<std::string, std::string>>
      insertions;         ///< extension point, textual pipeline
  std::string cache;      ///< folder that keeps generated code, or empty
  bool intoCache = false; ///< --cache without -o: the engine is kept there, too
  std::string link;       ///< symbolic link to that engine, or empty
  std::vector<std::string>
      identity;        ///< the arguments that decide what is in the engine (CacheName.h)
  std::string kv;      ///< "f32", "bf16", "f16" of CPU code; of GPU code if there is no other
  std::string gpuKv;   ///< "bf16", "fp8"
  std::string kvAsked; ///< what --kv said, or empty
  std::vector<KvRule> kvLayers; ///< of layers whose cache is of another type
  bool exact = false;
  bool batchInvariant = false; ///< GPU code whose bits do not depend on the batch: no wgmma
  bool verify = false;         ///< check passes with the real weights as well
  WeightOrigin weights = WeightOrigin::Checkpoint;
  uint64_t seed = 0;
  std::string chatTemplate;     ///< file; overrides the checkpoint's
  std::string chatTemplateName; ///< of the checkpoint's, the one for all requests; or empty
  std::vector<std::string> disabled, dumpAfter, dumpBefore; ///< passes; dumpAfter may have "all"
  bool timing = false;       ///< where the time went is printed at the end
  std::string intermediates; ///< folder for the IR after each pass that changes it, or empty
  std::vector<std::string> ignoredKeys; ///< of the configuration: the user knows them harmless
  std::string remarks;                  ///< "", "passed", "missed", "all"
  std::string remarksFile;              ///< all of them; or empty
  Emit emit = Emit::Engine;
  std::string kernel;      ///< alone, of what is emitted; or empty
  bool brief = false;      ///< IR is emitted for reading (BriefText.h)
  std::string tuning;      ///< file of rows
  double tuneSeconds = 60; ///< Emit::Rows: how long to measure, about
  int threads = 0;         ///< 0: as many as the machine has
  bool quiet = false, json = false;
  bool verbose = false; ///< keys of the configuration that change nothing are listed
};

/// "random" or "seed"; empty for a checkpoint's own.
const char *weightOriginName(WeightOrigin origin);

/// "lm", "fused", "kernel" or "plan".
const char *phaseName(Phase phase);

/// Parses the arguments behind `ingot compile`. nullopt: help was printed.
Result<std::optional<CompileOptions>> parseCompileOptions(int argc, const char *const *argv);

/// The same behind `ingot tune`: the model and what decides its kernels, with Emit::Rows.
Result<std::optional<CompileOptions>> parseTuneOptions(int argc, const char *const *argv);

} // namespace ingot::compiler
