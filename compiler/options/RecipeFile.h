//===- RecipeFile.h - The file of --recipe ----------------------------------===//
//
// A recipe is TOML. A key is an option of `ingot compile` without its dashes, except that `formats` has no
// option and `kv-layers` belongs to --kv:
//
//   target = ["cpu:avx2", "cuda:sm_90a"]
//   quantize = "int4-g64"
//   formats = [ { weights = "blk.[01].ffn_down", format = "int8" } ]    # the first match decides
//   kv-layers = [ { layers = "0-3", format = "bf16" } ]                 # --kv 0-3=bf16
//   patterns = ["rules.pdll"]                                           # relative to the recipe
//
// A recipe holds everything that decides the engine's contents, except the checkpoint. toml++ does the
// parsing; only RecipeFile.cpp includes it.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/options/Options.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ingot::compiler {

/// The kind of value that a key holds.
enum class RecipeKind { Text, Texts, File, Files, Flag, Number, Formats, KvLayers };

struct RecipeKey {
  const char *name;
  RecipeKind kind;
};

/// Returns all keys, in the order in which recipes are written.
const std::vector<RecipeKey> &recipeKeys();

/// A value and its place in the file.
struct RecipeValue {
  std::vector<std::string>
      texts; ///< for all kinds except flags and numbers; paths are relative to this process
  std::vector<std::string> places; ///< place of each format: "r.toml, line 3, column 5"
  std::vector<KvRule> kvRules;
  bool flag = false;
  uint64_t number = 0;
  std::string place;
};

using RecipeFile = std::map<std::string, RecipeValue>;

/// Reads a recipe. Errors: E0413: it cannot be read; E0414: it is not TOML, or a value has the wrong kind;
/// E0480: an unknown key; E0418: it is empty.
Result<RecipeFile> readRecipe(const std::string &path);

/// Returns the recipe of these options: all options that decide an engine's contents, including defaults.
/// `nameOf` returns the form in which the recipe names the file at a path.
std::string recipeText(const CompileOptions &options,
                       std::string (*nameOf)(const std::string &path, const std::string &folder),
                       const std::string &folder);
/// Returns the recipe as an engine stores it, with only the names of files.
std::string recipeInEngine(const CompileOptions &options);
/// Returns the recipe for a file in `folder`; paths are relative to it.
std::string recipeIn(const std::string &folder, const CompileOptions &options);

} // namespace ingot::compiler
