//===- EngineCache.h - Resolving MODEL to an engine file -------------------===//
//
// MODEL may be an engine, which is used unchanged, or a checkpoint. A checkpoint is
// compiled once into the cache:
//
//   $XDG_CACHE_HOME/ingot/NAME-KEY.ingot      (else ~/.cache/ingot; or --cache DIR)
//   …/code                                    generated code, by `ingot compile --cache`
//
// KEY is a hash of the checkpoint's content, the compile options and the compiler library
// itself. A changed file, option or compiler therefore gives another engine, and a stale
// engine is never used.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "tools/options/CommandLine.h"

#include <optional>
#include <string>
#include <vector>

namespace ingot::cli {

/// Checks a seed, which is 0 to 2^64-1. CLI11 itself accepts a sign and an overflow.
std::string seedProblem(const std::string &text);

/// The options of `ingot compile` that `run` and similar commands pass on.
struct CompileOptions {
  std::vector<std::string> targets, ignoredKeys;
  std::string quantize, precision, weights, cacheFolder;
  std::vector<std::string> kv; ///< "int4", "0-3=bf16"
  std::optional<uint64_t> weightsSeed;

  void define(CommandLine &command);
  /// Returns the options as arguments of `ingot compile`. The cache key covers them.
  std::vector<std::string> arguments() const;
};

/// Returns the path of the engine for MODEL. Errors: E0130: nothing is there; E0131: it is neither
/// an engine nor a checkpoint (exit 3); E0132: there is no place for the cache; E0134: compile
/// options were given for an engine (exit 2); the errors of the importer and the compiler; E0133.
Result<std::string> resolveEngine(const std::string &model, const CompileOptions &options,
                                  bool quiet);

/// Returns whether the file starts as an engine does.
bool isEngineFile(const std::string &path);

/// Returns the cache folder; empty if neither XDG_CACHE_HOME nor HOME is set.
std::string cacheFolder(const CompileOptions &options);

} // namespace ingot::cli
