//===- RecipeFile.cpp - See RecipeFile.h ----------------------------------===//
#include "compiler/options/RecipeFile.h"
#include "compiler/options/ExtensionPoints.h"
#include "runtime/error/Suggest.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fs = std::filesystem;

using namespace ingot;
using namespace ingot::compiler;

const std::vector<RecipeKey> &compiler::recipeKeys() {
  static const std::vector<RecipeKey> keys = {{"target", RecipeKind::Texts},
                                              {"precision", RecipeKind::Text},
                                              {"kv", RecipeKind::Text},
                                              {"kv-layers", RecipeKind::KvLayers},
                                              {"batch-invariant", RecipeKind::Flag},
                                              {"quantize", RecipeKind::Text},
                                              {"formats", RecipeKind::Formats},
                                              {"patterns", RecipeKind::Files},
                                              {"plugin", RecipeKind::Files},
                                              {"insert", RecipeKind::Texts},
                                              {"disable", RecipeKind::Texts},
                                              {"chat-template", RecipeKind::File},
                                              {"chat-template-name", RecipeKind::Text},
                                              {"ignore-key", RecipeKind::Texts},
                                              {"weights", RecipeKind::Text},
                                              {"seed", RecipeKind::Number},
                                              {"verify", RecipeKind::Flag}};
  return keys;
}

namespace {

const std::vector<std::string> kFormats = {"int8",      "int4-g32", "int4-g64",
                                           "int4-g128", "fp8",      "bf16"};

/// Joins names as "int8, fp8 and bf16".
std::string listed(const std::vector<std::string> &names) {
  std::string all;
  for (const std::string &name : names)
    all += (all.empty() ? "" : &name == &names.back() ? " and " : ", ") + name;
  return all;
}

/// Returns the names of the formats of KvFormat.h.
std::vector<std::string> kvNames() {
  std::vector<std::string> names;
  for (KvFormat format : {KvFormat::F32, KvFormat::BF16, KvFormat::F16, KvFormat::Int8,
                          KvFormat::FP8, KvFormat::Int4})
    names.emplace_back(kvFormat(format).name);
  return names;
}

const char *wordsFor(RecipeKind kind) {
  switch (kind) {
  case RecipeKind::Text:
    return "a string: \"…\"";
  case RecipeKind::Texts:
    return "a list of strings: [\"…\", \"…\"]";
  case RecipeKind::File:
    return "a path: \"…\"";
  case RecipeKind::Files:
    return "a list of paths: [\"…\", \"…\"]";
  case RecipeKind::Flag:
    return "true or false";
  case RecipeKind::Number:
    return "a number from 0";
  case RecipeKind::Formats:
    return "a list of { weights = \"GLOB\", format = \"int8\" }";
  case RecipeKind::KvLayers:
    return "a list of { layers = \"0-3, 28-\", format = \"bf16\" }";
  }
  return "";
}

/// Reads one file; every error names its place.
class Reader {
public:
  explicit Reader(const std::string &path) : path(path), folder(fs::path(path).parent_path()) {}

  Result<RecipeFile> read(std::string_view text);

private:
  std::string at(const toml::source_position &where) const {
    return path + ", line " + std::to_string(where.line) + ", column " +
           std::to_string(where.column);
  }
  std::string at(const toml::node &node) const { return at(node.source().begin); }
  Error wrong(const std::string &place, const std::string &what, const std::string &why,
              const std::string &fix) const {
    return {ExitCode::File, "E0414", place + ": " + what, why, fix};
  }
  Error wrongKind(const std::string &place, const RecipeKey &key) const {
    return wrong(place, std::string("'") + key.name + "' has a value of the wrong type",
                 std::string("expected ") + wordsFor(key.kind),
                 "ingot compile MODEL --write-recipe FILE writes a valid one");
  }
  Error unknown(const std::string &place, const std::string &key,
                const std::vector<std::string> &known) const;

  Result<RecipeValue> valueOf(const RecipeKey &key, const toml::node &node) const;
  Result<void> addText(const RecipeKey &key, const toml::node &node, RecipeValue &to) const;
  Result<std::pair<std::string, std::string>> pairOf(const RecipeKey &key, const toml::node &node,
                                                     const char *first,
                                                     const std::vector<std::string> &formats) const;
  Result<void> addFormat(const RecipeKey &key, const toml::node &node, RecipeValue &to) const;
  Result<void> addKvRule(const RecipeKey &key, const toml::node &node, RecipeValue &to) const;

  const std::string path;
  const fs::path folder;
};

Error Reader::unknown(const std::string &place, const std::string &key,
                      const std::vector<std::string> &known) const {
  std::string all;
  for (const std::string &name : known)
    all += (all.empty() ? "" : ", ") + name;
  return {ExitCode::File, "E0480", place + ": unknown key '" + key + "'", "keys are " + all,
          didYouMean(key, known, "correct it, or remove it")};
}

Result<void> Reader::addText(const RecipeKey &key, const toml::node &node, RecipeValue &to) const {
  auto text = node.value_exact<std::string>();
  if (!text)
    return wrongKind(at(node), key);
  if (text->empty())
    return wrong(at(node), std::string("'") + key.name + "' is an empty string",
                 "omit keys that you do not need", "remove it");
  const bool file = key.kind == RecipeKind::File || key.kind == RecipeKind::Files;
  PatternsAt beside{kPatternsPoint, *text};
  if (key.name == std::string_view("patterns")) // "post-fusion=rules.pdll"
    beside = patternsAt(*text);
  beside.path = (folder / beside.path).lexically_normal().string();
  to.texts.push_back(file ? textOf(beside) : *text);
  return {};
}

/// Reads { FIRST = "…", format = "…" } and returns both texts; the second must be one of `formats`.
Result<std::pair<std::string, std::string>>
Reader::pairOf(const RecipeKey &key, const toml::node &node, const char *first,
               const std::vector<std::string> &formats) const {
  const toml::table *table = node.as_table();
  if (!table)
    return wrongKind(at(node), key);
  std::pair<std::string, std::string> pair;
  for (auto &&[name, value] : *table) {
    const std::string field(name.str());
    if (field != first && field != "format")
      return unknown(at(name.source().begin), field, {first, "format"});
    auto text = value.value_exact<std::string>();
    if (!text)
      return wrongKind(at(value), key);
    if (field == "format" && std::find(formats.begin(), formats.end(), *text) == formats.end())
      return wrong(at(value), "unknown format '" + *text + "'", "formats are " + listed(formats),
                   didYouMean(*text, formats, "format = \"int8\""));
    (field == "format" ? pair.second : pair.first) = *text;
  }
  if (pair.first.empty() || pair.second.empty())
    return wrongKind(at(node), key);
  return pair;
}

/// Reads { weights = "blk.*.ffn_down", format = "int8" } and stores it in the pass's form,
/// "blk.*.ffn_down:int8".
Result<void> Reader::addFormat(const RecipeKey &key, const toml::node &node,
                               RecipeValue &to) const {
  auto pair = pairOf(key, node, "weights", kFormats);
  if (!pair)
    return pair.error();
  std::replace(pair->second.begin(), pair->second.end(), '-', '_');
  to.texts.push_back(pair->first + ":" + pair->second);
  to.places.push_back(at(node));
  return {};
}

/// Reads { layers = "0-3", format = "bf16" }.
Result<void> Reader::addKvRule(const RecipeKey &key, const toml::node &node,
                               RecipeValue &to) const {
  auto pair = pairOf(key, node, "layers", kvNames());
  if (!pair)
    return pair.error();
  auto rule = kvRule(pair->first, pair->second, at(node));
  if (!rule)
    return rule.error();
  to.kvRules.push_back(std::move(*rule));
  return {};
}

Result<RecipeValue> Reader::valueOf(const RecipeKey &key, const toml::node &node) const {
  RecipeValue value;
  value.place = at(node);
  switch (key.kind) {
  case RecipeKind::Flag: {
    auto flag = node.value_exact<bool>();
    if (!flag)
      return wrongKind(value.place, key);
    value.flag = *flag;
    break;
  }
  case RecipeKind::Number: {
    // TOML's integers end at 2^63 - 1; larger seeds are strings.
    auto number = node.value_exact<int64_t>();
    auto text = node.value_exact<std::string>();
    if (number && *number >= 0) {
      value.number = static_cast<uint64_t>(*number);
    } else if (text && !text->empty() && text->size() <= 20 &&
               text->find_first_not_of("0123456789") == std::string::npos) {
      errno = 0;
      value.number = std::strtoull(text->c_str(), nullptr, 10);
      if (errno)
        return wrongKind(value.place, key);
    } else {
      return wrongKind(value.place, key);
    }
    break;
  }
  case RecipeKind::Text:
  case RecipeKind::File:
    if (auto ok = addText(key, node, value); !ok)
      return ok.error();
    break;
  case RecipeKind::Texts:
  case RecipeKind::Files:
  case RecipeKind::Formats:
  case RecipeKind::KvLayers: {
    const toml::array *list = node.as_array();
    if (!list)
      return wrongKind(value.place, key);
    for (const toml::node &element : *list)
      if (auto ok = key.kind == RecipeKind::Formats    ? addFormat(key, element, value)
                    : key.kind == RecipeKind::KvLayers ? addKvRule(key, element, value)
                                                       : addText(key, element, value);
          !ok)
        return ok.error();
  }
  }
  return value;
}

Result<RecipeFile> Reader::read(std::string_view text) {
  toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    const toml::parse_error &error = parsed.error();
    return wrong(at(error.source().begin), "this is not valid TOML",
                 std::string(error.description()),
                 "write KEY = VALUE, with strings in quotation marks: quantize = \"int8\"");
  }
  const toml::table &table = parsed.table();
  if (table.empty())
    return Error{ExitCode::File, "E0418", "the recipe is empty", path,
                 "ingot compile MODEL --write-recipe FILE writes one; or drop --recipe"};
  RecipeFile recipe;
  std::vector<std::string> names;
  for (const RecipeKey &key : recipeKeys())
    names.push_back(key.name);
  for (auto &&[name, node] : table) {
    auto key = std::find_if(recipeKeys().begin(), recipeKeys().end(),
                            [&](const RecipeKey &known) { return known.name == name.str(); });
    if (key == recipeKeys().end())
      return unknown(at(name.source().begin), std::string(name.str()), names);
    auto value = valueOf(*key, node);
    if (!value)
      return value.error();
    recipe.emplace(key->name, std::move(*value));
  }
  return recipe;
}

} // namespace

Result<RecipeFile> compiler::readRecipe(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  if (!in || folder)
    return Error{ExitCode::File, "E0413", "cannot read the recipe",
                 path + (folder ? " is a folder" : ""),
                 "--recipe expects a file of lines: KEY = VALUE"};
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return Reader(path).read(text);
}
