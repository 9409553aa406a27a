//===- Rope.cpp - Inverse frequencies of rotary position embedding --------===//
#include "models/Rope.h"

#include "compiler/import/error/ImportErrors.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace ingot;
using namespace ingot::models;

/// Llama 3.1's scaling: long wavelengths are stretched by the factor, short ones are unchanged, and those
/// between are blended (HF transformers, modeling_rope_utils.py).
static float scaleLlama3(const Rope &rope, float frequency) {
  float wave = static_cast<float>(2 * std::numbers::pi) / frequency;
  auto context = static_cast<float>(rope.originalContext);
  auto low = static_cast<float>(rope.lowFrequencyFactor);
  auto high = static_cast<float>(rope.highFrequencyFactor);
  auto factor = static_cast<float>(rope.factor);
  if (wave > context / low)
    return frequency / factor;
  if (wave < context / high)
    return frequency;
  float smooth = (context / wave - low) / (high - low);
  return (1 - smooth) * frequency / factor + smooth * frequency;
}

/// Yarn keeps pairs that turn often within the original context, stretches pairs that turn less than once by
/// the factor, and blends those between (YaRN, arXiv:2309.00071; HF transformers, modeling_rope_utils.py).
static std::vector<float> yarnFrequencies(const Rope &rope, int64_t rotary) {
  const auto dims = static_cast<double>(rotary);
  // The pair that completes `turns` turns within the original context.
  auto pairOf = [&](double turns) {
    return dims * std::log(rope.originalContext / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(rope.base));
  };
  double low = pairOf(rope.betaFast), high = pairOf(rope.betaSlow);
  if (rope.truncate)
    low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, dims - 1);
  if (low == high)
    high += 0.001;
  std::vector<float> frequencies(static_cast<size_t>(rotary / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const float ramp = std::clamp((static_cast<float>(i) - static_cast<float>(low)) /
                                      static_cast<float>(high - low),
                                  0.0f, 1.0f),
                keeps = 1 - ramp;
    const auto power = static_cast<float>(
        std::pow(rope.base, static_cast<float>(2 * i) / static_cast<float>(rotary)));
    const float kept = 1.0f / power, stretched = 1.0f / (static_cast<float>(rope.factor) * power);
    frequencies[i] = stretched * (1 - keeps) + kept * keeps;
  }
  return frequencies;
}

std::vector<float> models::ropeFrequencies(const Rope &rope, int64_t rotary,
                                           llvm::ArrayRef<float> divisors) {
  if (rope.scaling == Rope::Scaling::Yarn)
    return yarnFrequencies(rope, rotary);
  const double dims = static_cast<double>(rotary),
               base = rope.alpha == 1 ? rope.base
                                      : rope.base * std::pow(rope.alpha, dims / (dims - 2));
  std::vector<float> frequencies(rotary / 2);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    float exponent = static_cast<float>(2 * i) / static_cast<float>(rotary);
    auto power = static_cast<float>(std::pow(base, exponent));
    if (rope.scaling == Rope::Scaling::LongRope && i < rope.divisors.size())
      power *= static_cast<float>(rope.divisors[i]);
    float frequency = 1.0f / power;
    if (rope.scaling == Rope::Scaling::Linear)
      frequency /= static_cast<float>(rope.factor);
    if (rope.scaling == Rope::Scaling::Llama3)
      frequency = scaleLlama3(rope, frequency);
    if (!divisors.empty())
      frequency /= divisors[i];
    frequencies[i] = frequency;
  }
  return frequencies;
}

double models::longRopeAttentionFactor(double stretched, double originalContext) {
  return stretched <= 1 ? 1 : std::sqrt(1 + std::log(stretched) / std::log(originalContext));
}

/// 0.1 m ln f + 1: yarn's compensation for softmaxes over more positions.
static double yarnScale(double factor, double mscale = 1) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

using KeyOfRope = llvm::function_ref<std::string(llvm::StringRef)>;

/// Returns the context that the model was trained with before it was stretched. A key outside the rope's own object
/// takes precedence, as in transformers.
static double originalContext(Config &config, KeyOfRope key, int64_t context) {
  return config.positiveOr(
      "original_max_position_embeddings",
      config.positiveOr(key("original_max_position_embeddings"), static_cast<double>(context)));
}

static void readYarn(Config &config, KeyOfRope key, int64_t context, Rope &rope) {
  rope.scaling = Rope::Scaling::Yarn;
  rope.originalContext = originalContext(config, key, context);
  rope.factor = config.isNull(key("factor")) ? double(context) / rope.originalContext
                                             : config.positive(key("factor"));
  rope.reach = rope.factor * rope.originalContext;
  auto turns = [&](llvm::StringRef name, double otherwise) { // 0 is treated as null
    const double found = config.numberOr(key(name), otherwise);
    return found > 0 ? found : otherwise;
  };
  rope.betaFast = turns("beta_fast", 32);
  rope.betaSlow = turns("beta_slow", 1);
  rope.truncate = config.flagOr(key("truncate"), true);
  // If both keys are present, the default is the ratio of their scales, as in DeepSeek and related models. Otherwise
  // it is yarn's own scale.
  const double mscale = config.numberOr(key("mscale"), 0),
               allDim = config.numberOr(key("mscale_all_dim"), 0);
  const double otherwise = mscale > 0 && allDim > 0
                               ? yarnScale(rope.factor, mscale) / yarnScale(rope.factor, allDim)
                               : yarnScale(rope.factor);
  rope.attentionFactor = config.positiveOr(key("attention_factor"), otherwise);
}

static void readLongRope(Config &config, KeyOfRope key, int64_t context, Rope &rope) {
  rope.scaling = Rope::Scaling::LongRope;
  rope.originalContext = originalContext(config, key, context);
  const std::vector<double> shorter = config.numbers(key("short_factor")),
                            longer = config.numbers(key("long_factor"));
  // HF's model switches from one list to the other during generation and recomputes its cache. An engine is compiled
  // for one context, so it needs only one list.
  rope.divisors = double(context) > rope.originalContext ? longer : shorter;
  if (rope.divisors.empty())
    config.refuseValue(key("long_factor"), "no list", "numbers, one for each pair of a head");
  const double stretched =
      config.positiveOr(key("factor"), static_cast<double>(context) / rope.originalContext);
  rope.attentionFactor = config.positiveOr(
      key("attention_factor"), longRopeAttentionFactor(stretched, rope.originalContext));
}

static void readLlama3(Config &config, KeyOfRope key, int64_t context, Rope &rope) {
  rope.scaling = Rope::Scaling::Llama3;
  rope.factor = config.positive(key("factor"));
  rope.lowFrequencyFactor = config.positive(key("low_freq_factor"));
  rope.highFrequencyFactor = config.positive(key("high_freq_factor"));
  rope.originalContext = originalContext(config, key, context);
  if (rope.highFrequencyFactor <= rope.lowFrequencyFactor)
    config.refuseValue(key("high_freq_factor"), import::line(rope.highFrequencyFactor),
                       import::line("above low_freq_factor ", rope.lowFrequencyFactor));
}

static void readLinear(Config &config, KeyOfRope key, int64_t context, Rope &rope) {
  rope.scaling = Rope::Scaling::Linear;
  rope.factor = config.positive(key("factor"));
  rope.reach = rope.factor * config.positiveOr(key("original_max_position_embeddings"),
                                               static_cast<double>(context));
}

/// Reads the parameters of a scaling type. Returns false if the type is unknown.
static bool readScaling(Config &config, const std::string &type, KeyOfRope key, int64_t context,
                        Rope &rope) {
  if (type == "yarn" && !config.hasArray(key("long_factor")))
    readYarn(config, key, context, rope);
  else if (type == "longrope" || type == "su" || type == "yarn") // Phi-3's older names
    readLongRope(config, key, context, rope);
  else if (type == "linear")
    readLinear(config, key, context, rope);
  else if (type == "llama3")
    readLlama3(config, key, context, rope);
  else if (type == "dynamic") // changes nothing within the model's stated context
    rope.alpha = config.positiveOr(key("alpha"), 1); // HunYuan scales the base by a constant
  else
    return type == "default" || type == "mrope";
  return true;
}

Rope models::readRope(Config &config, llvm::StringRef scope, llvm::StringRef baseKey,
                      double baseOtherwise, int64_t context) {
  auto key = [&](llvm::StringRef name) { return (scope + name).str(); };
  Rope rope;
  rope.base = config.positiveOr(baseKey, baseOtherwise);
  rope.base = config.positiveOr(key("rope_theta"), rope.base);
  // Older files use "type"; some have both.
  std::string type = config.textOr(key("type"), "default");
  type = config.textOr(key("rope_type"), type);
  if (!readScaling(config, type, key, context, rope))
    config.refuseValue(key("rope_type"), import::inQuotes(type),
                       "default, linear, llama3, yarn, longrope, dynamic, mrope");
  // These are keys that transformers ignores if the type does not use them, and vLLM's names for the same keys.
  // mrope_section divides a head among the three axes of images; in pure text all axes have one position, so the rope
  // is a plain one.
  for (llvm::StringRef unread : {"alpha",
                                 "apply_yarn_scaling",
                                 "attention_factor",
                                 "attn_factor",
                                 "beta_fast",
                                 "beta_slow",
                                 "extrapolation_factor",
                                 "factor",
                                 "finetuned",
                                 "high_freq_factor",
                                 "long_factor",
                                 "long_mscale",
                                 "low_freq_factor",
                                 "max_position_embeddings",
                                 "mrope_interleaved",
                                 "mrope_section",
                                 "mscale",
                                 "mscale_all_dim",
                                 "original_max_position_embeddings",
                                 "short_factor",
                                 "short_mscale",
                                 "truncate"})
    config.passOver({key(unread)});
  return rope;
}

/// yarn_attn_factor has two meanings, because llama.cpp's converter fills it from one of two keys. attention_factor is
/// the whole factor. attn_factor is multiplied by yarn's own factor in vLLM, and transformers ignores it. llama.cpp
/// reads neither. In published models attention_factor is above 1 and attn_factor is not, which tells them apart.
static double readYarnFactor(Config &config, double own) {
  const double given = config.numberOr("rope.scaling.yarn_attn_factor", 0);
  return given > 1 ? given : own;
}

Rope models::readGgufRope(Config &config, double baseOtherwise, int64_t context) {
  Rope rope;
  rope.base = config.positiveOr("rope.freq_base", baseOtherwise);
  // As in llama.cpp, a factor without a type is linear, and a factor of 0 means none. Older files use another name
  // for the factor.
  const std::string type = config.textOr("rope.scaling.type", "linear");
  rope.originalContext =
      config.positiveOr("rope.scaling.original_context_length", static_cast<double>(context));
  const double older = config.numberOr("rope.scale_linear", 0),
               factor = config.numberOr("rope.scaling.factor", older);
  if (factor < 0)
    config.refuseValue("rope.scaling.factor", import::line(factor), "numbers from 0");
  rope.factor = factor > 0 ? factor : 1;
  rope.attentionFactor = config.positiveOr("rope.scaling.attn_factor", 1);
  if (type == "linear" || type == "yarn")
    rope.reach = rope.factor * rope.originalContext;
  if (type == "linear") {
    rope.scaling = Rope::Scaling::Linear;
  } else if (type == "yarn") {
    rope.scaling = Rope::Scaling::Yarn;
    rope.betaFast = config.positiveOr("rope.scaling.yarn_beta_fast", 32);
    rope.betaSlow = config.positiveOr("rope.scaling.yarn_beta_slow", 1);
    // The default is yarn's own scale, divided by the scale of yarn_log_multiplier if the file has that key.
    const double allDim = config.numberOr("rope.scaling.yarn_log_multiplier", 0);
    rope.attentionFactor *= readYarnFactor(
        config, yarnScale(rope.factor) / (allDim > 0 ? yarnScale(rope.factor, allDim) : 1));
  } else if (type == "longrope") {
    rope.scaling = Rope::Scaling::LongRope; // the divisors are tensors
  } else if (type != "none") {
    config.refuseValue("rope.scaling.type", import::inQuotes(type), "none, linear, yarn, longrope");
  }
  return rope;
}
