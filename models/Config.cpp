//===- Config.cpp - Reading a model's configuration -----------------------===//
#include "models/Config.h"

#include "compiler/import/ImportErrors.h"
#include "models/ModelErrors.h"

#include <cmath>
#include <limits>

using namespace ingot;
using namespace ingot::models;
using import::inQuotes;
using import::line;

bool Config::has(llvm::StringRef key) const { return checkpoint.has(full(key)); }

bool Config::hasArray(llvm::StringRef key) const {
  auto entry = checkpoint.metadata.find(full(key));
  return entry != checkpoint.metadata.end() &&
         std::holds_alternative<import::MetaArray>(entry->second);
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

int64_t Config::count(llvm::StringRef key, int64_t most) {
  int64_t value = keep<int64_t>(checkpoint.integer(full(key)), 1);
  if (value >= 1 && value <= most)
    return value;
  refuseValue(key, line(value), line("1 to ", most));
  return 1;
}

int64_t Config::countOr(llvm::StringRef key, int64_t otherwise) {
  return has(key) ? count(key) : otherwise;
}

double Config::positive(llvm::StringRef key) {
  double value = keep<double>(checkpoint.number(full(key)), 1);
  if (std::isfinite(value) && value > 0)
    return value;
  refuseValue(key, line(value), "numbers above 0");
  return 1;
}

double Config::positiveOr(llvm::StringRef key, double otherwise) {
  return has(key) ? positive(key) : otherwise;
}

bool Config::flagOr(llvm::StringRef key, bool otherwise) {
  return keep<bool>(checkpoint.booleanOr(full(key), otherwise), otherwise);
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
    refuseValue(key, "something else", "an array of strings");
  return {};
}

std::vector<bool> Config::flags(llvm::StringRef key) {
  const import::MetaArray *array = checkpoint.array(full(key));
  const auto *found = array ? std::get_if<std::vector<bool>>(array) : nullptr;
  if (found)
    return *found;
  if (has(key))
    refuseValue(key, "something else", "an array of booleans");
  return {};
}

void Config::requireFlag(llvm::StringRef key, bool value) {
  if (flagOr(key, value) != value)
    refuseValue(key, value ? "false" : "true", value ? "true" : "false");
}

void Config::requireCount(llvm::StringRef key, int64_t value) {
  int64_t found = keep<int64_t>(checkpoint.integerOr(full(key), value), value);
  if (found != value)
    refuseValue(key, line(found), line(value));
}

void Config::harmless(llvm::ArrayRef<llvm::StringLiteral> patterns) {
  for (llvm::StringRef pattern : patterns)
    checkpoint.ignore(full(pattern));
}

void Config::harmlessEverywhere() {
  if (isGguf()) {
    for (const char *key : {"general.*", "tokenizer.*", "quantize.imatrix.*"})
      checkpoint.ignore(key);
    return;
  }
  harmless({"_name_or_path", "architectures", "attention_dropout", "bos_token_id",
            "cache_implementation", "dtype", "eos_token_id", "id2label.*", "initializer_range",
            "label2id.*", "model_type", "pad_token_id", "torch_dtype", "transformers.js_config.*",
            "transformers_version", "unk_token_id", "use_cache"});
}

Result<void> Config::finish() {
  if (first)
    return std::move(*first);
  std::vector<std::string> unused = checkpoint.unusedKeys();
  if (unused.empty())
    return {};
  std::string more =
      unused.size() > 1 ? line(", and ", unused.size() - 1, " more such keys") : std::string();
  return import::refuse(
      cause::keyUnused,
      line("the model has a key that its family does not know: ", inQuotes(unused.front()), more),
      "it may change what the model computes, so it is not passed over",
      "use another checkpoint, or remove the key if you know it is harmless");
}

lm::ActivationKind models::readActivation(Config &config, llvm::StringRef key,
                                          llvm::StringRef otherwise) {
  std::string name = config.textOr(key, otherwise);
  if (name == "silu" || name == "swish")
    return lm::ActivationKind::Silu;
  if (name == "gelu_pytorch_tanh")
    return lm::ActivationKind::GeluTanh;
  if (name == "gelu")
    return lm::ActivationKind::Gelu;
  config.refuseValue(key, inQuotes(name), "silu, gelu, gelu_pytorch_tanh");
  return lm::ActivationKind::Silu;
}

void models::checkHeads(Config &config, int64_t heads, int64_t kvHeads, int64_t headDim,
                        int64_t rotary) {
  const char *headsKey = config.isGguf() ? "attention.head_count" : "num_attention_heads";
  const char *sizeKey = config.isGguf() ? "attention.key_length" : "head_dim";
  if (heads % kvHeads)
    config.refuseValue(headsKey, line(heads), line("multiples of the ", kvHeads, " KV heads"));
  if (headDim < 2 || headDim % 2)
    config.refuseValue(sizeKey, line(headDim), "even sizes, since rotary embedding turns pairs");
  if (rotary % 2 || rotary > headDim)
    config.refuseValue("rope.dimension_count", line(rotary),
                       line("even sizes up to the head's ", headDim));
}
