//===- Config.cpp - Reading a model's configuration -----------------------===//
#include "models/Config.h"

#include "compiler/import/error/ImportErrors.h"
#include "models/KnownKeys.h"
#include "models/ModelErrors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <limits>

using namespace ingot;
using namespace ingot::models;
using import::inQuotes;
using import::line;

bool Config::has(llvm::StringRef key) const { return checkpoint.has(full(key)); }

bool Config::isNull(llvm::StringRef key) const {
  auto entry = checkpoint.metadata.find(full(key));
  return entry != checkpoint.metadata.end() &&
         std::holds_alternative<std::monostate>(entry->second);
}

bool Config::hasArray(llvm::StringRef key) const {
  auto entry = checkpoint.metadata.find(full(key));
  return entry != checkpoint.metadata.end() &&
         std::holds_alternative<import::MetaArray>(entry->second);
}

bool Config::isText(llvm::StringRef key) const {
  auto entry = checkpoint.metadata.find(full(key));
  return entry != checkpoint.metadata.end() && std::holds_alternative<std::string>(entry->second);
}

bool Config::hasScope(llvm::StringRef scope) const {
  std::string begin = full(scope);
  auto entry = checkpoint.metadata.lower_bound(begin);
  return entry != checkpoint.metadata.end() && entry->first.starts_with(begin);
}

void Config::refuse(Error error) {
  if (!first)
    first = std::move(error);
}

void Config::refuseValue(llvm::StringRef key, const std::string &found,
                         const std::string &supported) {
  refuse(import::refuse(cause::valueUnsupported,
                        line("the model's ", inQuotes(full(key)), " is not supported"),
                        line("found ", found, ", supported: ", supported),
                        "use another checkpoint, or correct the value if it is wrong"));
}

template <typename T> T Config::keep(Result<T> result, T otherwise) {
  if (result)
    return *result;
  refuse(std::move(result.error()));
  return otherwise;
}

/// "4 (layers 0, 1, 3)", with at most kShown layers.
static std::string layersWith(const std::vector<std::string> &entries, const std::string &entry) {
  constexpr size_t kShown = 6;
  std::string layers;
  size_t count = 0;
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i] == entry && ++count <= kShown)
      layers += line(layers.empty() ? "" : ", ", i);
  return line(entry, count == 1 ? " (layer " : " (layers ", layers, count > kShown ? ", …)" : ")");
}

void Config::refuseLayers(llvm::StringRef key, const import::MetaArray &list) {
  std::vector<std::string> entries, different;
  std::visit(
      [&](const auto &values) {
        using Entry = typename std::decay_t<decltype(values)>::value_type;
        for (const auto &value : values)
          entries.push_back(shown(import::MetaValue(Entry(value))));
      },
      list);
  for (const std::string &entry : entries)
    if (!llvm::is_contained(different, entry))
      different.push_back(entry);
  std::string found = entries.empty() ? "an empty list" : "";
  for (const std::string &entry : llvm::ArrayRef(different).take_front(4))
    found += (found.empty() ? "" : ", ") + layersWith(entries, entry);
  refuseValue(key, found + (different.size() > 4 ? ", …" : ""), "one value for all layers");
}

template <typename T>
T Config::read(llvm::StringRef key, T otherwise,
               Result<T> (import::Checkpoint::*typed)(std::string_view) const) {
  const import::MetaArray *list = checkpoint.array(full(key));
  if (!list)
    return has(key) ? keep<T>((checkpoint.*typed)(full(key)), otherwise) : otherwise;
  std::optional<T> all;
  std::visit(
      [&](const auto &values) {
        using Entry = typename std::decay_t<decltype(values)>::value_type;
        if constexpr (std::is_same_v<Entry, T> ||
                      (std::is_same_v<T, double> && std::is_same_v<Entry, int64_t>))
          if (!values.empty() && llvm::all_equal(values))
            all = static_cast<T>(values.front());
      },
      *list);
  if (!all)
    refuseLayers(key, *list);
  return all.value_or(otherwise);
}

int64_t Config::count(llvm::StringRef key, int64_t most) {
  if (!has(key)) { // the look-up reports the missing key
    keep<int64_t>(checkpoint.integer(full(key)), 1);
    return 1;
  }
  const int64_t value = read<int64_t>(key, 1, &import::Checkpoint::integer);
  if (value >= 1 && value <= most)
    return value;
  refuseValue(key, line(value), line("1 to ", most));
  return 1;
}

int64_t Config::countOr(llvm::StringRef key, int64_t otherwise) {
  return has(key) ? count(key) : otherwise;
}

int64_t Config::sizeOr(llvm::StringRef key, int64_t otherwise) {
  const int64_t value = read<int64_t>(key, otherwise, &import::Checkpoint::integer);
  if (value >= 0 && value <= std::numeric_limits<int32_t>::max())
    return value;
  refuseValue(key, line(value), line("0 to ", std::numeric_limits<int32_t>::max()));
  return otherwise;
}

double Config::positive(llvm::StringRef key) {
  if (!has(key)) {
    keep<double>(checkpoint.number(full(key)), 1);
    return 1;
  }
  const double value = read<double>(key, 1, &import::Checkpoint::number);
  if (std::isfinite(value) && value > 0)
    return value;
  refuseValue(key, line(value), "numbers above 0");
  return 1;
}

double Config::positiveOr(llvm::StringRef key, double otherwise) {
  return has(key) ? positive(key) : otherwise;
}

double Config::numberOr(llvm::StringRef key, double otherwise) {
  const double value = read<double>(key, otherwise, &import::Checkpoint::number);
  if (std::isfinite(value))
    return value;
  refuseValue(key, line(value), "finite numbers");
  return otherwise;
}

bool Config::flagOr(llvm::StringRef key, bool otherwise) {
  return read<bool>(key, otherwise, &import::Checkpoint::boolean);
}

std::string Config::textOr(llvm::StringRef key, llvm::StringRef otherwise) {
  if (!has(key))
    return otherwise.str();
  return keep<std::string>(checkpoint.string(full(key)), otherwise.str());
}

std::vector<std::string> Config::texts(llvm::StringRef key) {
  const import::MetaArray *array = checkpoint.array(full(key));
  const auto *found = array ? std::get_if<std::vector<std::string>>(array) : nullptr;
  if (found)
    return *found;
  if (has(key))
    refuseValue(key, "another value", "an array of strings");
  return {};
}

std::vector<bool> Config::flags(llvm::StringRef key) {
  const import::MetaArray *array = checkpoint.array(full(key));
  const auto *found = array ? std::get_if<std::vector<bool>>(array) : nullptr;
  if (found)
    return *found;
  if (has(key))
    refuseValue(key, "another value", "an array of booleans");
  return {};
}

std::vector<int64_t> Config::integers(llvm::StringRef key) {
  const import::MetaArray *array = checkpoint.array(full(key));
  const auto *found = array ? std::get_if<std::vector<int64_t>>(array) : nullptr;
  if (found)
    return *found;
  if (has(key))
    refuseValue(key, "another value", "an array of integers");
  return {};
}

std::vector<double> Config::numbers(llvm::StringRef key) {
  const import::MetaArray *array = checkpoint.array(full(key));
  if (const auto *found = array ? std::get_if<std::vector<double>>(array) : nullptr)
    return *found;
  if (const auto *found = array ? std::get_if<std::vector<int64_t>>(array) : nullptr)
    return {found->begin(), found->end()};
  if (has(key))
    refuseValue(key, "another value", "an array of numbers");
  return {};
}

void Config::requireCount(llvm::StringRef key, int64_t value) {
  const int64_t found = read<int64_t>(key, value, &import::Checkpoint::integer);
  if (found != value)
    refuseValue(key, line(found), line(value));
}

void Config::requirePositive(llvm::StringRef key, double value) {
  double found = positiveOr(key, value);
  if (found != value)
    refuseValue(key, line(found), line(value));
}

void Config::passOver(llvm::ArrayRef<llvm::StringRef> keys) {
  for (llvm::StringRef key : keys)
    checkpoint.passOver(full(key));
}

Error Config::unknownKeys(llvm::ArrayRef<std::string> unknown) const {
  const bool one = unknown.size() == 1;
  std::string keys, options;
  for (const std::string &key : unknown) {
    keys += (keys.empty() ? "" : ", ") + inQuotes(key);
    options += line(" --ignore-key ", inQuotes(key));
  }
  return import::refuse(
      cause::keyUnused,
      line("the model has ", one ? "a key" : "keys", " that its family does not support: ", keys),
      one ? "it may change the result, so it is not ignored"
          : "they may change the result, so they are not ignored",
      line("use another checkpoint, or, if you know that ", one ? "it is" : "they are",
           " harmless:", options));
}

Result<void> Config::finish(llvm::StringRef family) {
  if (isGguf()) // tokenizer.* is read by text processing
    for (const char *pattern : {"general.*", "tokenizer.*", "quantize.imatrix.*"})
      checkpoint.ignore(pattern);
  std::vector<std::string> unknown;
  for (const std::string &key : checkpoint.unusedKeys()) {
    const import::MetaValue &value = checkpoint.metadata.find(key)->second;
    llvm::StringRef own = key;
    own.consume_front(prefix);
    const KnownKey known = lookUpKey(isGguf(), family, own, value);
    if (known.verdict == KnownKey::Verdict::Unknown)
      unknown.push_back(key);
    else if (known.verdict == KnownKey::Verdict::Neutral)
      checkpoint.passOver(key);
    else if (known.verdict == KnownKey::Verdict::Refused)
      refuse(import::refuse(
          cause::valueUnsupported, line("the model's ", inQuotes(key), " is not supported"),
          line("found ", shown(value),
               ", supported: ", llvm::join(llvm::split(known.supported, ' '), ", ")),
          line("use another checkpoint, or, if you know that it is harmless: --ignore-key ",
               inQuotes(key))));
  }
  if (first)
    return std::move(*first);
  if (!unknown.empty())
    return unknownKeys(unknown);
  return {};
}

lm::ActivationKind models::readActivation(Config &config, llvm::StringRef key,
                                          llvm::StringRef otherwise) {
  std::string name = config.textOr(key, otherwise);
  if (name == "silu" || name == "swish")
    return lm::ActivationKind::Silu;
  // gelu_fast writes sqrt(2/pi) with ten digits, which gives the same polynomial in f32.
  if (name == "gelu_pytorch_tanh" || name == "gelu_new" || name == "gelu_fast")
    return lm::ActivationKind::GeluTanh;
  if (name == "gelu" || name == "gelu_python")
    return lm::ActivationKind::Gelu;
  if (name == "quick_gelu")
    return lm::ActivationKind::QuickGelu;
  if (name == "relu")
    return lm::ActivationKind::Relu;
  if (name == "relu2")
    return lm::ActivationKind::Relu2;
  if (name == "mish")
    return lm::ActivationKind::Mish;
  config.refuseValue(key, inQuotes(name),
                     "silu, swish, gelu, gelu_python, gelu_pytorch_tanh, gelu_new, gelu_fast, "
                     "quick_gelu, relu, relu2, mish");
  return lm::ActivationKind::Silu;
}

void models::checkHeads(Config &config, int64_t heads, int64_t kvHeads, int64_t headDim,
                        int64_t rotary) {
  const char *headsKey = config.isGguf() ? "attention.head_count" : "num_attention_heads";
  const char *sizeKey = config.isGguf() ? "attention.key_length" : "head_dim";
  if (heads % kvHeads)
    config.refuseValue(headsKey, line(heads), line("multiples of the ", kvHeads, " KV heads"));
  if (headDim < 2 || (rotary == headDim && headDim % 2))
    config.refuseValue(sizeKey, line(headDim), "even sizes, since rotary embedding rotates pairs");
  if (rotary % 2 || rotary > headDim)
    config.refuseValue("rope.dimension_count", line(rotary),
                       line("even sizes up to the head's ", headDim));
}
