//===- Gemma3.cpp - Gemma 3, text -----------------------------------------===//
//
// There are norms around both sublayers, and each head is normed. Most layers have a window and a rope base of 10,000;
// every sixth layer attends to all positions, with a base and scaling of its own. Norms multiply by 1 + w: GGUF files
// store 1 + w, and HF's files store w. The embedding is scaled by sqrt(hidden). (Gemma 3 technical report,
// arXiv:2503.19786; HF modeling_gemma3.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include <cmath>

using namespace ingot;
using namespace ingot::models;

static void readGguf(Config &config, Decoder &m) {
  config.requireCount("rope.dimension_count", m.headDim);
  m.localRope->base = config.positiveOr("rope.freq_base_swa", 10000);
  m.mlpBias = Bias::None;
  // Only the 27B model scales by its hidden size per head; GGUF has no key for this, and llama.cpp also
  // recognises the model by its 62 layers.
  const int64_t scaledBy = m.layers == 62 ? m.hidden / m.heads : m.headDim;
  m.attentionScale = 1 / std::sqrt(static_cast<double>(scaledBy));
  readWindows(config, m, config.count("attention.sliding_window"),
              [](int64_t i) { return (i + 1) % 6 != 0; });
}

static void readHf(Config &config, Decoder &m) {
  for (const char *key : {"sliding_window", "hidden_activation"}) // HF fails on these
    if (config.isNull(key))
      config.refuseValue(key, "null", "a value, or no such key");
  if (!config.hasScope("rope_parameters."))
    m.localRope->base = config.positiveOr("rope_local_base_freq", 10000);
  // The list of layers takes precedence, if it is present.
  const int64_t period = config.countOr("sliding_window_pattern", 6);
  readWindows(config, m, config.countOr("sliding_window", 4096),
              [&](int64_t i) { return (i + 1) % period != 0; });
  m.attentionScale = 1 / std::sqrt(config.positiveOr("query_pre_attn_scalar", 256));
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
}

/// Defaults of HF's Gemma3TextConfig.
void models::readGemma3(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.normPlace = NormPlace::Around;
  m.headNorm = HeadNorm::Head;
  m.names.ffnNorm.hf = "pre_feedforward_layernorm";
  m.normWeightOffset = 1;
  m.context = 131072;
  m.contextIsStretched = true;
  m.kvHeads = 4;
  m.headDim = 256;
  m.vocab = 262208;
  m.tied = true;
  m.keys.activation = "hidden_activation";
  m.activation = lm::ActivationKind::GeluTanh;
  m.activationOtherwise = "gelu_pytorch_tanh";
  m.rope.base = 1000000;
  m.localRope.emplace();
  readSizes(config, checkpoint, m);
  if (config.isGguf())
    readGguf(config, m);
  else
    readHf(config, m);
  m.finalSoftcap = config.positiveOr("final_logit_softcapping", 0);
  m.embeddingScale = std::sqrt(static_cast<float>(m.hidden));
}
