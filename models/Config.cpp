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

double Config::numberOr(llvm::StringRef key, double otherwise) {
  double value = has(key) ? keep<double>(checkpoint.number(full(key)), otherwise) : otherwise;
  if (std::isfinite(value))
    return value;
  refuseValue(key, line(value), "finite numbers");
  return otherwise;
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

std::vector<int64_t> Config::integers(llvm::StringRef key) {
  const import::MetaArray *array = checkpoint.array(full(key));
  const auto *found = array ? std::get_if<std::vector<int64_t>>(array) : nullptr;
  if (found)
    return *found;
  if (has(key))
    refuseValue(key, "something else", "an array of integers");
  return {};
}

std::vector<double> Config::numbers(llvm::StringRef key) {
  const import::MetaArray *array = checkpoint.array(full(key));
  if (const auto *found = array ? std::get_if<std::vector<double>>(array) : nullptr)
    return *found;
  if (const auto *found = array ? std::get_if<std::vector<int64_t>>(array) : nullptr)
    return {found->begin(), found->end()};
  if (has(key))
    refuseValue(key, "something else", "an array of numbers");
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

void Config::requirePositive(llvm::StringRef key, double value) {
  double found = positiveOr(key, value);
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
  // What the model is, and with what it was written.
  harmless({"_name_or_path", "architectures", "auto_map.*", "dtype", "finetuning_task",
            "is_decoder", "model_type", "task_specific_params.*", "torch_dtype",
            "transformers.js_config.*", "transformers_version", "unsloth_fixed",
            "unsloth_version"});
  // Tokens and classes.
  harmless({"bos_token_id", "decoder_start_token_id", "eod_token_id", "eos_token_id",
            "forced_bos_token_id", "forced_eos_token_id", "id2label.*", "label2id.*", "num_labels",
            "pad_token_id", "prefix", "problem_type", "sep_token_id", "tokenizer_class",
            "unk_token_id"});
  // Training; pretraining_tp only orders the additions of a product.
  harmless({"attention_dropout", "attn_pdrop", "embd_pdrop", "gradient_checkpointing",
            "hidden_dropout", "hidden_dropout_prob", "attention_probs_dropout_prob",
            "initializer_range", "mlp_dropout", "neftune_noise_alpha", "resid_pdrop",
            "output_router_logits", "pretraining_tp", "router_aux_loss_coef", "router_jitter_noise",
            "summary_*"});
  // How transformers runs it and what it returns.
  harmless({"_attn_implementation",
            "_attn_implementation_autoset",
            "_commit_hash",
            "_flash_attn_2_enabled",
            "attn_implementation",
            "cache_implementation",
            "chunk_size_feed_forward",
            "is_encoder_decoder",
            "output_attentions",
            "output_hidden_states",
            "output_scores",
            "pruned_heads.*",
            "return_dict",
            "return_dict_in_generate",
            "remove_invalid_values",
            "tie_encoder_decoder",
            "tf_legacy_loss",
            "torchscript",
            "typical_p",
            "use_bfloat16",
            "use_cache"});
  // Settings of generation that older checkpoints keep here; the user's options decide.
  harmless({"bad_words_ids",
            "begin_suppress_tokens",
            "diversity_penalty",
            "do_sample",
            "early_stopping",
            "encoder_no_repeat_ngram_size",
            "exponential_decay_length_penalty",
            "length_penalty",
            "max_length",
            "max_new_tokens",
            "min_length",
            "no_repeat_ngram_size",
            "num_beam_groups",
            "num_beams",
            "num_return_sequences",
            "repetition_penalty",
            "suppress_tokens",
            "temperature",
            "top_k",
            "top_p"});
  requireFlag("add_cross_attention", false);
}

Result<void> Config::finish() {
  if (first)
    return std::move(*first);
  std::vector<std::string> unused = checkpoint.unusedKeys();
  if (unused.empty())
    return {};
  const bool one = unused.size() == 1;
  std::string keys, options;
  for (const std::string &key : unused) {
    keys += (keys.empty() ? "" : ", ") + inQuotes(key);
    options += line(" --ignore-key ", inQuotes(key));
  }
  return import::refuse(
      cause::keyUnused,
      line("the model has ", one ? "a key" : "keys", " that its family does not know: ", keys),
      one ? "it may change what the model computes, so it is not passed over"
          : "they may change what the model computes, so they are not passed over",
      line("use another checkpoint, or, if you know that ", one ? "it is" : "they are",
           " harmless:", options));
}

lm::ActivationKind models::readActivation(Config &config, llvm::StringRef key,
                                          llvm::StringRef otherwise) {
  std::string name = config.textOr(key, otherwise);
  if (name == "silu" || name == "swish")
    return lm::ActivationKind::Silu;
  // gelu_fast writes sqrt(2/pi) with ten digits: the same polynomial in f32.
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
    config.refuseValue(sizeKey, line(headDim), "even sizes, since rotary embedding turns pairs");
  if (rotary % 2 || rotary > headDim)
    config.refuseValue("rope.dimension_count", line(rotary),
                       line("even sizes up to the head's ", headDim));
}
