//===- StableLm.cpp - StableLM 2 and StableLM Zephyr ----------------------===//
//
// Llama's layer with layer norms; a quarter of each head turns. The 12B model reads one norm for both
// sublayers, and norms its heads, which is refused by name.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's StableLmConfig.
void models::readStableLm(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.norm = Norm::Layer;
  m.context = 4096;
  m.eps = 1e-5;
  m.rotatesInPart = true;
  m.partialRotary = 0.25;
  m.keys.eps = "layer_norm_eps";
  readSizes(config, checkpoint, m);
  readBias(config, "use_qkv_bias", {&m.attentionBias});
  config.requireFlag("qk_layernorm", false);
  if (config.flagOr("use_parallel_residual", false))
    m.residual = Residual::OneNorm;
}
