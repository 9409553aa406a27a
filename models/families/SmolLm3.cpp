//===- SmolLm3.cpp - SmolLM3 ----------------------------------------------===//
//
// Llama's layer, but every fourth layer has no rotation. GGUF files hold q and k permuted, as Llama's GGUF files do.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include "compiler/import/error/ImportErrors.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's SmolLM3Config.
void models::readSmolLm3(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 32768;
  m.kvHeads = 4;
  m.rope.base = 2000000;
  m.tied = true;
  readSizes(config, checkpoint, m);
  std::vector<int64_t> rotates;
  int64_t interval = 4;
  if (config.isGguf()) {
    m.style = lm::RopeStyle::Interleaved;
  } else {
    readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
    readBias(config, "mlp_bias", {&m.mlpBias});
    interval = config.countOr("no_rope_layer_interval", 4);
    rotates = config.integers("no_rope_layers"); // 1: the layer rotates its heads, despite the name
  }
  if (!rotates.empty() && int64_t(rotates.size()) != m.layers)
    config.refuseValue("no_rope_layers", import::line(rotates.size(), " layers"),
                       import::line(m.layers, " layers"));
  rotates.resize(rotates.empty() ? 0 : static_cast<size_t>(m.layers), 1);
  for (int64_t i = 0; i < m.layers; ++i) {
    const bool turns = rotates.empty() ? (i + 1) % interval != 0 : rotates[size_t(i)] != 0;
    m.rules.push_back({.kind = turns ? "rotated" : "unrotated", .rotates = turns});
  }
  if (!config.flagOr("use_sliding_window", false)) {
    config.passOver({"sliding_window", "layer_types"});
    return;
  }
  std::vector<LayerRules> rules = std::move(m.rules);
  m.rules.clear();
  readWindows(config, m, config.count("sliding_window"),
              [&](int64_t i) { return !rules[size_t(i)].rotates; });
  for (auto [rule, turns] : llvm::zip(m.rules, rules)) {
    rule.rotates = turns.rotates;
    if (!rule.rotates)
      rule.kind = rule.window ? "unrotated_local" : "unrotated";
  }
}
