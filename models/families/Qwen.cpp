//===- Qwen.cpp - Qwen2, Qwen2.5 and Qwen3, dense -------------------------===//
//
// Llama's layer. Qwen2 has biases of q, k and v; Qwen3 has none and norms each head of q and k. The later
// layers of a model may have a window, but no published model uses one.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Reads whether the window in the configuration is used, and the first layer that uses it.
static void readQwenWindows(Config &config, Decoder &m) {
  if (config.isGguf())
    return;
  const bool used = config.flagOr("use_sliding_window", false);
  const int64_t window = config.countOr("sliding_window", 4096);
  const auto from = static_cast<int64_t>(config.numberOr("max_window_layers", 28));
  if (used)
    readWindows(config, m, window, [&](int64_t i) { return i >= from; });
  else
    config.passOver({"layer_types"});
}

/// Defaults of HF's Qwen2Config.
void models::readQwen2(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 32768;
  m.kvHeads = 32;
  readSizes(config, checkpoint, m);
  if (!config.isGguf())
    m.attentionBias = Bias::Required;
  readQwenWindows(config, m);
}

/// Defaults of HF's Qwen3Config.
void models::readQwen3(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 32768;
  m.kvHeads = 32;
  m.headDim = 128;
  m.headNorm = HeadNorm::Head;
  readSizes(config, checkpoint, m);
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  readQwenWindows(config, m);
}
