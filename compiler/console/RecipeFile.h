//===- RecipeFile.h - The file of --recipe ----------------------------------===//
//
// TOML. A key is an option of `ingot compile` without its dashes; `formats` has none, and `kv-layers` is of --kv:
//
//   target = ["cpu:avx2", "cuda:sm_90a"]
//   quantize = "int4-g64"
//   formats = [ { weights = "blk.[01].ffn_down", format = "int8" } ]    # the first that matches decides
//   kv-layers = [ { layers = "0-3", format = "bf16" } ]                 # --kv 0-3=bf16
//   patterns = ["rules.pdll"]                                           # beside the recipe
//
// Everything that decides what is in the engine is here, but the checkpoint. toml++ does the parsing, and RecipeFile.cpp
// alone includes it.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/console/Options.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ingot::compiler {

/// What a key may hold.
enum class RecipeKind { Text, Texts, File, Files, Flag, Number, Formats, KvLayers };

struct RecipeKey {
  const char *name;
  RecipeKind kind;
};

/// All keys, in the order in which recipes are written.
const std::vector<RecipeKey> &recipeKeys();

/// A value and where it stands.
struct RecipeValue {
  std::vector<std::string>
      texts; ///< of all kinds but flags and numbers; paths as this process reads them
  std::vector<std::string> places; ///< of each format: "r.toml, line 3, column 5"
  std::vector<KvRule> kvRules;
  bool flag = false;
  uint64_t number = 0;
  std::string place;
};

using RecipeFile = std::map<std::string, RecipeValue>;

/// Errors: E0413 it cannot be read, E0414 it is no TOML or a value is of another kind, E0480 an unknown key, E0418 it
/// says nothing.
Result<RecipeFile> readRecipe(const std::string &path);

/// The recipe of these options: all of them that decide what is in an engine, defaults too. Paths are as
/// `nameOf` says.
std::string recipeText(const CompileOptions &options,
                       std::string (*nameOf)(const std::string &path, const std::string &folder),
                       const std::string &folder);
/// As an engine keeps it: of files the names alone.
std::string recipeInEngine(const CompileOptions &options);
/// As a file in that folder: paths are relative to it.
std::string recipeIn(const std::string &folder, const CompileOptions &options);

} // namespace ingot::compiler
