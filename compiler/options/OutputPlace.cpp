//===- OutputPlace.cpp - See OutputPlace.h --------------------------------===//
#include "compiler/options/OutputPlace.h"
#include "compiler/files/TemporaryFile.h"
#include "runtime/engine/Header.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace fs = std::filesystem;

using namespace ingot;
using namespace ingot::compiler;

bool compiler::isEngineFile(const std::string &path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    return false;
  char start[sizeof runtime::kMagic] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  return std::memcmp(start, runtime::kMagic, sizeof start) == 0;
}

/// Returns whether `path` names the given file. Links and ./ are resolved.
static bool isSameFile(const std::string &path, const struct stat &file) {
  struct stat other;
  return ::stat(path.c_str(), &other) == 0 && other.st_dev == file.st_dev &&
         other.st_ino == file.st_ino;
}

/// Returns whether both paths name the same file. The file need not exist.
static bool isSamePlace(const std::string &a, const std::string &b) {
  std::error_code failure;
  const fs::path whole = fs::weakly_canonical(fs::absolute(a, failure), failure);
  return !a.empty() && !failure && whole == fs::weakly_canonical(fs::absolute(b, failure), failure);
}

/// Returns the folder that holds the files of the checkpoint; empty for a GGUF, which is a single file unless its name
/// shows parts (NAME-00001-of-00003.gguf).
static fs::path folderOf(const std::string &model) {
  std::error_code ignored;
  if (fs::is_directory(model, ignored))
    return model;
  if (model.ends_with(".gguf") && model.find("-of-") == std::string::npos)
    return {};
  fs::path parent = fs::path(model).parent_path();
  return parent.empty() ? "." : parent;
}

static bool isInput(const CompileOptions &options, const struct stat &file) {
  std::vector<std::string> inputs = {options.model, options.chatTemplate, options.recipeFile,
                                     options.fromFile};
  for (const PatternsAt &patterns : options.patterns)
    inputs.push_back(patterns.path);
  inputs.insert(inputs.end(), options.plugins.begin(), options.plugins.end());
  for (const std::string &input : inputs)
    if (isSameFile(input, file))
      return true;
  // An engine in the checkpoint's folder is not part of the checkpoint.
  fs::path folder = folderOf(options.model);
  if (folder.empty() || isEngineFile(options.output))
    return false;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (isSameFile(entry->path().string(), file))
      return true;
  return false;
}

Result<void> compiler::writeText(const std::string &text, const std::string &path) {
  if (path.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  auto file = TemporaryFile::create(path);
  if (!file)
    return file.error();
  if (auto ok = (*file)->allocate(text.size()); !ok)
    return ok;
  if (auto ok = (*file)->write(0, std::as_bytes(std::span(text.data(), text.size()))); !ok)
    return ok;
  return (*file)->commit();
}

Result<void> compiler::checkOutput(const CompileOptions &options) {
  for (auto [option, path] :
       {std::pair("-o", &options.output), std::pair("--write-recipe", &options.writeRecipe)}) {
    if (path->empty())
      continue;
    struct stat file;
    if (::stat(path->c_str(), &file) == 0 && S_ISREG(file.st_mode) && isInput(options, file))
      return Error{ExitCode::Usage, "E0416",
                   std::string(option) + " is also an input file: " + *path,
                   "the result would overwrite it",
                   "give another name: " + std::string(option) +
                       (path == &options.output ? " model.ingot" : " recipe.toml")};
    if (auto ok = TemporaryFile::checkTarget(*path); !ok) {
      Error error = ok.error();
      if (path == &options.writeRecipe)
        error.fix = "give another place: --write-recipe recipe.toml";
      return error;
    }
  }
  if (!options.writeRecipe.empty() && isSamePlace(options.output, options.writeRecipe))
    return Error{
        ExitCode::Usage, "E0416", "-o and --write-recipe name the same file: " + options.output,
        "the engine would overwrite its recipe", "give another name: --write-recipe recipe.toml"};
  return {};
}
