//===- Wrapper.cpp - See Wrapper.h ----------------------------------------===//
#include "compiler/import/config/Wrapper.h"
#include "compiler/import/error/ImportErrors.h"

#include <algorithm>
#include <optional>
#include <set>

namespace ingot::import {

namespace {

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// The scopes that may hold a text model's configuration.
constexpr std::string_view kScopes[] = {"text_config.", "llm_config.", "language_config.",
                                        "thinker_config.text_config."};

/// Wrappers with a text model that needs only `kFromOutside` from the outer level.
constexpr std::string_view kWrappers[] = {
    "AyaVisionForConditionalGeneration",
    "Cohere2VisionForConditionalGeneration",
    "Gemma3ForConditionalGeneration",
    "Gemma3nForConditionalGeneration",
    "Gemma4ForConditionalGeneration",
    "Gemma4UnifiedForConditionalGeneration",
    "Idefics3ForConditionalGeneration",
    "InternVLChatModel",
    "InternVLForConditionalGeneration",
    "KimiK25ForConditionalGeneration",
    "Lfm2VlForConditionalGeneration",
    "Llama4ForConditionalGeneration",
    "LlavaForConditionalGeneration",
    "LlavaNextForConditionalGeneration",
    "LlavaOnevisionForConditionalGeneration",
    "Mistral3ForConditionalGeneration",
    "Qwen2_5OmniModel",
    "Qwen2_5_VLForConditionalGeneration",
    "Qwen2VLForConditionalGeneration",
    "Qwen3OmniMoeForConditionalGeneration",
    "Qwen3VLForConditionalGeneration",
    "Qwen3VLMoeForConditionalGeneration",
    "Qwen3_5ForConditionalGeneration",
    "Qwen3_5MoeForConditionalGeneration",
    "SmolVLMForConditionalGeneration",
    "VipLlavaForConditionalGeneration",
};

/// Pairs of a wrapper and the architecture of its text model. Older files of these wrappers have the text model's keys
/// at the top level, next to vision_config.
constexpr std::pair<std::string_view, std::string_view> kFlatWrappers[] = {
    {"Qwen2VLForConditionalGeneration", "Qwen2ForCausalLM"},
    {"Qwen2_5_VLForConditionalGeneration", "Qwen2ForCausalLM"},
};

/// The architecture that corresponds to a nested model_type. For any other model_type, the architecture is the nested
/// `architectures` or, without it, the model_type itself.
constexpr std::pair<std::string_view, std::string_view> kTextTypes[] = {
    {"cohere", "CohereForCausalLM"},
    {"cohere2", "Cohere2ForCausalLM"},
    {"deepseek_v2", "DeepseekV2ForCausalLM"},
    {"deepseek_v3", "DeepseekV3ForCausalLM"},
    {"gemma", "GemmaForCausalLM"},
    {"gemma2", "Gemma2ForCausalLM"},
    {"gemma3_text", "Gemma3ForCausalLM"},
    {"gemma3n_text", "Gemma3nForCausalLM"},
    {"gemma4_text", "Gemma4ForCausalLM"},
    {"gemma4_unified_text", "Gemma4ForCausalLM"},
    {"glm4", "Glm4ForCausalLM"},
    {"glm4_moe", "Glm4MoeForCausalLM"},
    {"gpt_neox", "GPTNeoXForCausalLM"},
    {"gpt_oss", "GptOssForCausalLM"},
    {"granite", "GraniteForCausalLM"},
    {"kimi_k2", "DeepseekV3ForCausalLM"},
    {"lfm2", "Lfm2ForCausalLM"},
    {"lfm2_moe", "Lfm2MoeForCausalLM"},
    {"llama", "LlamaForCausalLM"},
    {"llama4_text", "Llama4ForCausalLM"},
    {"ministral3", "Ministral3ForCausalLM"},
    {"mistral", "MistralForCausalLM"},
    {"mistral4", "Mistral4ForCausalLM"},
    {"mixtral", "MixtralForCausalLM"},
    {"olmo2", "Olmo2ForCausalLM"},
    {"phi3", "Phi3ForCausalLM"},
    {"qwen2", "Qwen2ForCausalLM"},
    {"qwen2_5_omni_text", "Qwen2ForCausalLM"},
    {"qwen2_5_vl_text", "Qwen2ForCausalLM"},
    {"qwen2_moe", "Qwen2MoeForCausalLM"},
    {"qwen2_vl_text", "Qwen2ForCausalLM"},
    {"qwen3", "Qwen3ForCausalLM"},
    {"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM"},
    {"qwen3_5_text", "Qwen3_5ForCausalLM"},
    {"qwen3_moe", "Qwen3MoeForCausalLM"},
    {"qwen3_omni_moe_text", "Qwen3MoeForCausalLM"},
    {"qwen3_vl_moe_text", "Qwen3MoeForCausalLM"},
    {"qwen3_vl_text", "Qwen3ForCausalLM"},
    {"smollm3", "SmolLM3ForCausalLM"},
};

/// Architectures of wrappers in GGUF, and of the text models in them. The keys are prefixed with the wrapper's name.
constexpr std::pair<std::string_view, std::string_view> kGgufTypes[] = {
    {"qwen2vl", "qwen2"}, {"qwen3vl", "qwen3"}, {"qwen3vlmoe", "qwen3moe"}};

/// Before version 5 (and still for nested configurations), transformers wrote only values that differ from the defaults
/// of the text model's class. These are the class defaults of all keys that a model requires. A 0 means that the family
/// itself has the right default.
struct Defaults {
  std::string_view modelType;
  int64_t hidden, feedForward, layers, heads, kvHeads, headDim, vocab, context;
  double ropeBase, eps;
};
constexpr Defaults kDefaults[] = {
    {"gemma3_text", 2304, 9216, 26, 8, 4, 256, 262208, 131072, 0, 1e-6},
    {"llama", 4096, 11008, 32, 32, 0, 0, 32000, 2048, 1e4, 1e-6},
    {"ministral3", 4096, 14336, 34, 32, 8, 128, 131072, 262144, 0, 1e-5},
    {"mistral", 4096, 14336, 32, 32, 8, 0, 32000, 131072, 1e4, 1e-6},
    {"qwen2", 4096, 22016, 32, 32, 32, 0, 151936, 32768, 1e4, 1e-6},
    {"qwen2_5_vl_text", 8192, 29568, 80, 64, 8, 0, 152064, 32768, 1e6, 1e-5},
    {"qwen2_vl_text", 8192, 29568, 80, 64, 8, 0, 152064, 32768, 1e6, 1e-5},
    {"qwen3", 4096, 22016, 32, 32, 32, 128, 151936, 32768, 1e4, 1e-6},
    {"qwen3_vl_text", 4096, 22016, 32, 32, 32, 128, 151936, 128000, 5e5, 1e-6},
};

/// Keys about images and audio that occur among the text model's keys. A trailing '*' matches any rest.
constexpr std::string_view kBesideText[] = {"audio_*",
                                            "boa_token_*",
                                            "boi_token_*",
                                            "eoa_token_*",
                                            "eoi_token_*",
                                            "image_*",
                                            "mm_*",
                                            "multimodal_*",
                                            "perceiver_*",
                                            "pixel_shuffle_factor",
                                            "projector_*",
                                            "qk_layer_norms",
                                            "spatial_*",
                                            "speech_*",
                                            "use_resampler",
                                            "video_*",
                                            "vision_*",
                                            "talker_config.*",
                                            "token2wav_config.*",
                                            "code2wav_config.*",
                                            "projection_dim",
                                            "vit_*",
                                            "vision_feature_*"};

/// Keys that concern the text model but that a wrapper has at the outer level.
constexpr std::string_view kFromOutside[] = {"bos_token_id", "eos_token_id", "pad_token_id",
                                             "dtype",        "torch_dtype",  "tie_word_embeddings"};

struct Prefix {
  std::string_view from, to;
};

/// Prefixes of tensor names in wrappers, and the names in the plain model. The first match counts.
constexpr Prefix kNames[] = {
    {"model.language_model.model.", "model."}, // transformers 5.10 to 5.23
    {"model.language_model.lm_head.", "lm_head."},
    {"model.language_model.", "model."},
    {"language_model.model.", "model."},
    {"language_model.lm_head.", "lm_head."},
    {"language_model.", "model."},
    {"model.text_model.", "model."},
    {"thinker.model.", "model."},
    {"thinker.lm_head.", "lm_head."},
};

/// The prefix of tensor names and the name of the embedding after it, for all architectures that begin with
/// `architecture`. Files of a base model lack the prefix.
struct BaseModel {
  std::string_view architecture, prefix, embedding;
};
constexpr BaseModel kBaseModels[] = {{"GPT2", "transformer.", "wte.weight"},
                                     {"gpt2", "transformer.", "wte.weight"},
                                     {"GPTNeoX", "gpt_neox.", "embed_in.weight"},
                                     {"gpt_neox", "gpt_neox.", "embed_in.weight"},
                                     {"", "model.", "embed_tokens.weight"}};

/// Tensors outside the base model. They are heads, which keep their names.
constexpr std::string_view kBesideBase[] = {"lm_head.*", "embed_out.*", "v_head.*", "value_head.*",
                                            "score.*"};

constexpr char kVision[] = "vision tower", kAudio[] = "audio tower", kProjector[] = "projector",
               kSpeech[] = "speech output";

constexpr std::pair<std::string_view, std::string_view> kTowers[] = {
    {"vision_tower.", kVision},
    {"model.vision_tower.", kVision},
    {"visual.", kVision},
    {"model.visual.", kVision},
    {"thinker.visual.", kVision},
    {"vision_model.", kVision},
    {"model.vision_model.", kVision},
    {"model.vision_embedder.", kVision},
    {"audio_tower.", kAudio},
    {"model.audio_tower.", kAudio},
    {"thinker.audio_tower.", kAudio},
    {"multi_modal_projector.", kProjector},
    {"model.multi_modal_projector.", kProjector},
    {"mm_projector.", kProjector},
    {"model.connector.", kProjector},
    {"connector.", kProjector},
    {"model.embed_vision.", kProjector},
    {"model.embed_audio.", kProjector},
    {"image_newline", kProjector},
    {"model.image_newline", kProjector},
    {"mlp1.", kProjector},
    {"talker.", kSpeech},
    {"token2wav.", kSpeech},
    {"code2wav.", kSpeech},
};

bool matches(std::string_view key, std::string_view pattern) {
  return pattern.ends_with('*') ? key.starts_with(pattern.substr(0, pattern.size() - 1))
                                : key == pattern;
}

bool matchesAny(std::string_view key, std::span<const std::string_view> patterns) {
  return std::ranges::any_of(patterns, [&](std::string_view p) { return matches(key, p); });
}

template <typename Table> std::string_view lookUp(const Table &table, std::string_view key) {
  for (const auto &[known, value] : table)
    if (known == key)
      return value;
  return {};
}

bool isSet(const Metadata &metadata, std::string_view key) {
  auto entry = metadata.find(key);
  return entry != metadata.end() && !std::holds_alternative<std::monostate>(entry->second);
}

bool hasScope(const Metadata &metadata, std::string_view scope) {
  auto entry = metadata.lower_bound(scope);
  return entry != metadata.end() && entry->first.starts_with(scope);
}

const std::string *textOf(const Metadata &metadata, std::string_view key) {
  auto entry = metadata.find(key);
  return entry == metadata.end() ? nullptr : std::get_if<std::string>(&entry->second);
}

//===----------------------------------------------------------------------===//
// Configuration
//===----------------------------------------------------------------------===//

/// If the outer and the inner configuration contradict each other, the inner value is kept under this key until the
/// tensors are read.
constexpr char kInnerTie[] = "text_config.tie_word_embeddings";

class Unwrapping {
public:
  Unwrapping(CheckpointBuilder &builder, std::string_view scope)
      : builder(builder), scope(scope),
        known(std::ranges::find(kWrappers, builder.architecture()) != std::end(kWrappers)) {}

  Result<void> run(const std::string &path) {
    const Metadata &all = builder.allMetadata();
    for (const auto &[key, value] : all)
      if (key.starts_with(scope) && !matchesAny(key.substr(scope.size()), kBesideText))
        inner.emplace(key.substr(scope.size()), value);
    if (Result<void> named = name(path); !named)
      return named;
    takeQuantization();
    for (const auto &[key, value] : all)
      takeOuter(key, value);
    fillIn();
    builder.allMetadata() = std::move(inner);
    builder.setWrapper();
    return {};
  }

private:
  Result<void> name(const std::string &path) {
    const std::string *type = textOf(inner, "model_type");
    std::string found(type ? lookUp(kTextTypes, *type) : std::string_view());
    auto entry = inner.find("architectures");
    const auto *list = entry == inner.end() ? nullptr : std::get_if<MetaArray>(&entry->second);
    const auto *names = list ? std::get_if<std::vector<std::string>>(list) : nullptr;
    if (found.empty() && names && names->size() == 1)
      found = names->front();
    if (found.empty() && type)
      found = *type;
    if (found.empty() || found.size() > 256 || !isPlainName(found))
      return refuse(cause::architectureOdd,
                    line(fileName(path), " does not specify its text model"),
                    line(inQuotes(scope + "model_type"), " and ...architectures give ",
                         found.size(), " bytes; expected a name of 1 to 256 bytes"),
                    "use the config.json of the model itself");
    builder.setArchitecture(std::move(found));
    return {};
  }

  /// Takes the outer quantization settings if there are any. The settings apply to all tensors of the files, so they
  /// are usually at the outer level. Settings of the two levels are never merged.
  void takeQuantization() {
    constexpr std::string_view kQuantization = "quantization_config.";
    const Metadata &all = builder.allMetadata();
    if (!hasScope(all, kQuantization))
      return;
    std::erase_if(inner, [&](const auto &entry) { return entry.first.starts_with(kQuantization); });
    for (auto entry = all.lower_bound(kQuantization);
         entry != all.end() && entry->first.starts_with(kQuantization); ++entry)
      inner.insert(*entry);
  }

  void takeOuter(const std::string &key, const MetaValue &value) {
    if (std::holds_alternative<std::monostate>(value) || key.starts_with(scope))
      return;
    if (key == "tie_word_embeddings" && isSet(inner, key) && inner[key] != value) {
      inner[kInnerTie] = inner[key];
      inner[key] = value;
    } else if (key.ends_with("_token_id") && matchesAny(key, kFromOutside)) {
      inner[key] = value; // if both levels have token ids, the outer ones are for generation
    } else if (!isSet(inner, key) && (matchesAny(key, kFromOutside) || isUnknown(key))) {
      inner[key] = value;
    }
  }

  /// Returns whether the wrapper is not in the tables and the key is not clearly unrelated to the text model.
  bool isUnknown(const std::string &key) const {
    const bool nested = key.find("_config.") != std::string::npos;
    return !known && !nested && key != "architectures" && key != "model_type" &&
           !matchesAny(key, kBesideText);
  }

  void fillIn() {
    const std::string *type = textOf(inner, "model_type");
    const auto *defaults =
        type ? std::ranges::find(kDefaults, *type, &Defaults::modelType) : std::end(kDefaults);
    if (defaults == std::end(kDefaults))
      return;
    const std::pair<const char *, int64_t> integers[] = {
        {"hidden_size", defaults->hidden},
        {"intermediate_size", defaults->feedForward},
        {"num_hidden_layers", defaults->layers},
        {"num_attention_heads", defaults->heads},
        {"num_key_value_heads", defaults->kvHeads},
        {"head_dim", defaults->headDim},
        {"vocab_size", defaults->vocab},
        {"max_position_embeddings", defaults->context}};
    for (auto [key, value] : integers)
      if (value)
        inner.try_emplace(key, value);
    if (defaults->eps > 0)
      inner.try_emplace("rms_norm_eps", defaults->eps);
    if (defaults->ropeBase > 0 && !inner.contains("rope_parameters.rope_theta"))
      inner.try_emplace("rope_theta", defaults->ropeBase);
  }

  CheckpointBuilder &builder;
  const std::string scope;
  const bool known;
  Metadata inner;
};

/// Removes the settings for positions in time, height and width. In pure text, the three positions are equal.
void flattenRope(Metadata &metadata) {
  for (std::string scope : {"rope_scaling.", "rope_parameters."}) {
    for (const char *key : {"mrope_section", "mrope_interleaved"})
      metadata.erase(scope + key);
    for (const char *key : {"type", "rope_type"})
      if (auto type = metadata.find(scope + key);
          type != metadata.end() && type->second == MetaValue(std::string("mrope")))
        type->second = std::string("default");
  }
}

} // namespace

Result<void> unwrapConfig(CheckpointBuilder &builder, const std::string &path) {
  Metadata &metadata = builder.allMetadata();
  const auto *scope = std::ranges::find_if(
      kScopes, [&](std::string_view each) { return hasScope(metadata, each); });
  if (scope != std::end(kScopes)) {
    if (Result<void> unwrapped = Unwrapping(builder, *scope).run(path); !unwrapped)
      return unwrapped;
  } else if (std::string_view text = lookUp(kFlatWrappers, builder.architecture()); !text.empty()) {
    builder.setArchitecture(std::string(text));
    builder.setWrapper();
    std::erase_if(metadata, [](const auto &entry) { return matchesAny(entry.first, kBesideText); });
  }
  flattenRope(builder.allMetadata());
  return {};
}

void unwrapGguf(CheckpointBuilder &builder) {
  const std::string own = builder.architecture() + ".";
  Metadata &metadata = builder.allMetadata();
  metadata.erase(own + "rope.dimension_sections");
  const std::string_view plain = lookUp(kGgufTypes, builder.architecture());
  if (plain.empty())
    return;
  metadata.erase(own + "n_deepstack_layers");
  Metadata renamed;
  for (auto &[key, value] : metadata)
    renamed.emplace(key.starts_with(own) ? std::string(plain) + key.substr(own.size() - 1) : key,
                    std::move(value));
  metadata = std::move(renamed);
  builder.setArchitecture(std::string(plain));
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::string_view besideText(std::string_view tensor) {
  for (auto [prefix, what] : kTowers)
    if (tensor.starts_with(prefix))
      return what;
  return {};
}

/// Returns the name of the tensor in the plain model.
static std::string plainName(const std::string &name) {
  for (auto [from, to] : kNames)
    if (name.starts_with(from))
      return std::string(to) + name.substr(from.size());
  return name;
}

/// Normalises the prefix of tensor names. A base model, which was saved without its head, has no prefix ("layers.0.…").
/// Some programs prepend their own prefix ("module.model.layers.0.…", "base_model.model.model.layers.0.…"). The
/// embedding's name shows which prefix is used.
class BaseNames {
public:
  explicit BaseNames(CheckpointBuilder &builder) {
    base = &*std::ranges::find_if(kBaseModels, [&](const BaseModel &model) {
      return builder.architecture().starts_with(model.architecture);
    });
    bool any = false;
    for (const Tensor &tensor : builder.tensors()) {
      const std::string name = plainName(tensor.name);
      if (!name.ends_with(base->embedding))
        continue;
      const std::string before = name.substr(0, name.size() - base->embedding.size());
      // Use the shortest prefix, because draft blocks may have an embedding of their own.
      if ((before.empty() || before.ends_with('.')) && (!any || before.size() < found.size())) {
        found = before;
        any = true;
      }
    }
    known = !any || found == base->prefix;
  }

  bool withoutPrefix() const { return !known && found.empty(); }

  std::string of(std::string name) const {
    if (known || (found.empty() && matchesAny(name, kBesideBase)))
      return name;
    if (name.starts_with(found))
      return std::string(base->prefix) + name.substr(found.size());
    // The tensor is the head. Its name has one level of nesting less.
    const std::string level = "." + std::string(base->prefix);
    const bool nested = ("." + found).ends_with(level);
    const std::string outer = nested ? found.substr(0, found.size() - base->prefix.size()) : "";
    return name.starts_with(outer) ? name.substr(outer.size()) : name;
  }

private:
  const BaseModel *base;
  std::string found; ///< prefix of the embedding
  bool known;        ///< whether that prefix needs no change
};

Result<void> unwrapTensors(CheckpointBuilder &builder) {
  const BaseNames base(builder);
  std::set<std::string> names;
  auto rename = [&](std::string &name) -> Result<void> {
    std::string plain = base.of(plainName(name));
    if (!names.insert(plain).second)
      return refuse(
          cause::tensorTwice, line("the tensor ", inQuotes(plain), " exists under two names"),
          line(inQuotes(name), " is the second, of ", builder.tensors().size(), " tensors"),
          "save the checkpoint again, with one prefix before the text model's tensors");
    name = std::move(plain);
    return {};
  };
  for (Tensor &tensor : builder.tensors())
    if (Result<void> renamed = rename(tensor.name); !renamed)
      return renamed;
  for (UnreadTensor &tensor : builder.unread())
    if (Result<void> renamed = rename(tensor.name); !renamed)
      return renamed;

  if (base.withoutPrefix() && !names.contains("lm_head.weight") &&
      !names.contains("embed_out.weight"))
    builder.setHeadless();
  Metadata &metadata = builder.allMetadata();
  if (metadata.erase(kInnerTie) && !names.empty())
    metadata["tie_word_embeddings"] = !names.contains("lm_head.weight");
  return {};
}

} // namespace ingot::import
