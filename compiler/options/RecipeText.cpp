//===- RecipeText.cpp - Writing a recipe ------------------------------------===//
//
// Keys come in the order of recipeKeys(). Equal options must give the same text byte for byte, because
// engines store it.
//===----------------------------------------------------------------------===//
#include "compiler/options/RecipeFile.h"
#include "runtime/engine/Isa.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace fs = std::filesystem;

using namespace ingot;
using namespace ingot::compiler;

/// Returns the text as a TOML basic string.
static std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 32 || c == 127) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04X", static_cast<unsigned char>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

static std::string dashed(std::string format) {
  std::replace(format.begin(), format.end(), '_', '-');
  return format;
}

/// Returns the seed as TOML. A seed too large for a TOML integer becomes a string (RecipeFile.cpp).
static std::string seedText(uint64_t seed) {
  const std::string digits = std::to_string(seed);
  return seed >> 63 ? quoted(digits) : digits;
}

/// Returns the value of --kv that gives these options. Only GPUs have fp8, so --kv fp8 leaves CPUs their
/// default.
static const std::string &kvOf(const CompileOptions &o) {
  return !o.gpuTargets.empty() && o.gpuKv == "fp8" ? o.gpuKv : o.kv;
}

namespace {
/// Lines of KEY = VALUE, in order.
class Lines {
public:
  void raw(const char *key, const std::string &value) {
    text += std::string(key) + " = " + value + "\n";
  }
  void one(const char *key, const std::string &value) {
    if (!value.empty())
      raw(key, quoted(value));
  }
  void flag(const char *key, bool value) {
    if (value)
      raw(key, "true");
  }
  void list(const char *key, const std::vector<std::string> &values) {
    std::string all;
    for (const std::string &value : values)
      all += (all.empty() ? "" : ", ") + quoted(value);
    if (!values.empty())
      raw(key, "[" + all + "]");
  }

  std::string text;
};
} // namespace

std::string compiler::recipeText(const CompileOptions &o,
                                 std::string (*nameOf)(const std::string &, const std::string &),
                                 const std::string &folder) {
  auto name = [&](const std::string &path) { return path.empty() ? path : nameOf(path, folder); };
  auto names = [&](std::vector<std::string> paths) {
    std::transform(paths.begin(), paths.end(), paths.begin(), name);
    return paths;
  };
  std::vector<std::string> targets, insertions, patterns;
  for (const std::string &level : o.targets)
    targets.push_back(std::string(isaTarget(*runtime::isaLevelNamed(level))));
  targets.insert(targets.end(), o.gpuTargets.begin(), o.gpuTargets.end());
  for (const auto &[point, passes] : o.insertions)
    insertions.push_back(point + "=" + passes);
  for (const auto &[point, path] : o.patterns)
    patterns.push_back(textOf({point, name(path)}));
  std::string formats;
  for (const std::string &rule : o.recipe) {
    const size_t colon = rule.rfind(':');
    formats += "  { weights = " + quoted(rule.substr(0, colon)) +
               ", format = " + quoted(dashed(rule.substr(colon + 1))) + " },\n";
  }

  std::string kvLayers;
  for (const KvRule &rule : o.kvLayers)
    kvLayers += "  { layers = " + quoted(rule.layers) +
                ", format = " + quoted(std::string(kvFormat(rule.format).name)) + " },\n";

  Lines lines;
  lines.list("target", targets);
  lines.one("precision", o.exact ? "exact" : "fast");
  lines.one("kv", kvOf(o));
  if (!kvLayers.empty())
    lines.raw("kv-layers", "[\n" + kvLayers + "]");
  lines.flag("batch-invariant", o.batchInvariant);
  lines.one("quantize", dashed(o.quantize));
  if (!formats.empty())
    lines.raw("formats", "[\n" + formats + "]");
  lines.list("patterns", patterns);
  lines.list("plugin", names(o.plugins));
  lines.list("insert", insertions);
  lines.list("disable", o.disabled);
  lines.one("chat-template", name(o.chatTemplate));
  lines.one("chat-template-name", o.chatTemplateName);
  lines.list("ignore-key", o.ignoredKeys);
  lines.one("weights", weightOriginName(o.weights));
  if (o.weights != WeightOrigin::Checkpoint)
    lines.raw("seed", seedText(o.seed));
  lines.flag("verify", o.verify);
  return lines.text;
}

std::string compiler::recipeInEngine(const CompileOptions &options) {
  return recipeText(
      options,
      [](const std::string &path, const std::string &) {
        return fs::path(path).filename().string();
      },
      "");
}

/// Returns the path relative to the folder. Links are not resolved, because engines record files by their
/// given names. If the relative path goes up out of a folder that is itself a link, the path stays absolute.
static std::string relativeTo(const std::string &path, const std::string &folder) {
  std::error_code failure;
  const fs::path base = fs::absolute(folder.empty() ? "." : folder, failure).lexically_normal();
  const fs::path whole = fs::absolute(path, failure).lexically_normal();
  const fs::path relative = whole.lexically_relative(base);
  if (failure || relative.empty())
    return path;
  const bool up = *relative.begin() == "..";
  return up && fs::canonical(base, failure) != base ? whole.string() : relative.string();
}

std::string compiler::recipeIn(const std::string &folder, const CompileOptions &options) {
  return recipeText(options, relativeTo, folder);
}
