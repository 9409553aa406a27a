//===- EngineCache.h - From what the user named to an engine file ----------===//
//
// MODEL may be an engine, which is taken as it is, or a checkpoint. A checkpoint is
// compiled once into the cache:
//
//   $XDG_CACHE_HOME/ingot/NAME-KEY.ingot      (else ~/.cache/ingot; or --cache DIR)
//   …/code                                    generated code, by `ingot compile --cache`
//
// KEY hashes the checkpoint's content, the compile options and the compiler
// library itself: a changed file, option or compiler is another engine, and nothing
// stale is ever served.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "tools/options/CommandLine.h"

#include <optional>
#include <string>
#include <vector>

namespace ingot::cli {

/// Of a seed: 0 to 2^64-1. CLI11 alone lets a sign and an overflow pass.
std::string seedProblem(const std::string &text);

/// The options of `ingot compile` that `run` and its like pass on.
struct CompileOptions {
  std::vector<std::string> targets, ignoredKeys;
  std::string quantize, precision, weights, cacheFolder;
  std::vector<std::string> kv; ///< "int4", "0-3=bf16"
  std::optional<uint64_t> weightsSeed;

  void define(CommandLine &command);
  /// As arguments of `ingot compile`; what the cache key covers.
  std::vector<std::string> arguments() const;
};

/// The engine for MODEL. Errors: E0130 nothing there, E0131 neither engine nor checkpoint
/// (exit 3), E0132 no place for the cache, E0134 compile options for an engine (exit 2),
/// what the importer and the compiler say, E0133.
Result<std::string> resolveEngine(const std::string &model, const CompileOptions &options,
                                  bool quiet);

/// True for a file that starts as an engine does.
bool isEngineFile(const std::string &path);

/// Where engines are kept; empty if there is neither XDG_CACHE_HOME nor HOME.
std::string cacheFolder(const CompileOptions &options);

} // namespace ingot::cli
