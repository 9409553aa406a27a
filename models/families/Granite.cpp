//===- Granite.cpp - Granite 3 and 4, dense -------------------------------===//
//
// Llama's layer with four multipliers: of the embedding, of what a sublayer adds, of the attention's scores
// and, as a divisor, of the logits. GGUF files hold q and k permuted, as Llama's.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's GraniteConfig.
void models::readGranite(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  const bool gguf = config.isGguf();
  m.style = gguf ? lm::RopeStyle::Interleaved : lm::RopeStyle::Half;
  readSizes(config, checkpoint, m);
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  readBias(config, "mlp_bias", {&m.mlpBias});
  m.embeddingScale = config.positiveOr(gguf ? "embedding_scale" : "embedding_multiplier", 1);
  m.residualScale = config.positiveOr(gguf ? "residual_scale" : "residual_multiplier", 1);
  m.attentionScale =
      config.positiveOr(gguf ? "attention.scale" : "attention_multiplier", gguf ? 0 : 1);
  m.logitsScale = 1 / config.positiveOr(gguf ? "logit_scale" : "logits_scaling", 1);
}
