//===- Rope.cpp - Inverse frequencies of rotary position embedding --------===//
#include "models/Rope.h"

#include "compiler/import/ImportErrors.h"

#include <cmath>
#include <numbers>

using namespace ingot;
using namespace ingot::models;

/// Llama 3.1's scaling: long waves are stretched by the factor, short ones stay, those
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

std::vector<float> models::ropeFrequencies(const Rope &rope, int64_t rotary,
                                           llvm::ArrayRef<float> divisors) {
  std::vector<float> frequencies(rotary / 2);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    float exponent = static_cast<float>(2 * i) / static_cast<float>(rotary);
    float frequency = 1.0f / static_cast<float>(std::pow(rope.base, exponent));
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

Rope models::readRope(Config &config, llvm::StringRef scope, llvm::StringRef baseKey,
                      double baseOtherwise, int64_t context) {
  auto key = [&](llvm::StringRef name) { return (scope + name).str(); };
  Rope rope;
  rope.base = config.positiveOr(baseKey, baseOtherwise);
  rope.base = config.positiveOr(key("rope_theta"), rope.base);
  // Older files say "type"; some carry both.
  std::string type = config.textOr(key("type"), "default");
  type = config.textOr(key("rope_type"), type);
  if (type == "default")
    return rope;
  if (type == "linear") {
    rope.scaling = Rope::Scaling::Linear;
    rope.factor = config.positive(key("factor"));
    return rope;
  }
  if (type == "llama3") {
    rope.scaling = Rope::Scaling::Llama3;
    rope.factor = config.positive(key("factor"));
    rope.lowFrequencyFactor = config.positive(key("low_freq_factor"));
    rope.highFrequencyFactor = config.positive(key("high_freq_factor"));
    rope.originalContext =
        config.positiveOr(key("original_max_position_embeddings"), double(context));
    if (rope.highFrequencyFactor <= rope.lowFrequencyFactor)
      config.refuseValue(key("high_freq_factor"), import::line(rope.highFrequencyFactor),
                         import::line("above low_freq_factor ", rope.lowFrequencyFactor));
    return rope;
  }
  config.refuseValue(key("rope_type"), import::inQuotes(type), "default, linear, llama3");
  return rope;
}

Rope models::readGgufRope(Config &config, double baseOtherwise) {
  Rope rope;
  rope.base = config.positiveOr("rope.freq_base", baseOtherwise);
  // As llama.cpp: a factor without a type is linear.
  std::string type = config.textOr("rope.scaling.type", "linear");
  double factor = config.positiveOr("rope.scaling.factor", 1);
  if (type == "linear") {
    rope.scaling = Rope::Scaling::Linear;
    rope.factor = factor;
  } else if (type != "none") {
    config.refuseValue("rope.scaling.type", import::inQuotes(type), "none, linear");
  }
  return rope;
}
