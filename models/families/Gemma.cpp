//===- Gemma.cpp - Gemma 1 and 2 ------------------------------------------===//
//
// Norms multiply by 1 + w: GGUF files store 1 + w, and HF's files store w. The embedding is scaled by sqrt(hidden).
// Gemma 2 has norms around both sublayers, soft caps, and a window in every other layer, starting with the
// first. (Gemma reports, arXiv:2403.08295 and 2408.00118; HF modeling_gemma.py, modeling_gemma2.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include <cmath>

using namespace ingot;
using namespace ingot::models;

/// Reads the settings that both generations have, with the defaults of HF's GemmaConfig.
static void readCommon(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.normWeightOffset = 1;
  m.context = 8192;
  m.headDim = 256;
  m.tied = true;
  m.activation = lm::ActivationKind::GeluTanh;
  m.activationOtherwise = "gelu_pytorch_tanh";
  readSizes(config, checkpoint, m);
  m.embeddingScale = std::sqrt(static_cast<float>(m.hidden));
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
}

void models::readGemma(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.kvHeads = 16;
  readCommon(config, checkpoint, m);
  if (m.activation == lm::ActivationKind::Gelu)
    m.activation = lm::ActivationKind::GeluTanh; // the actual meaning of "gelu" in older files
}

void models::readGemma2(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.kvHeads = 4;
  m.normPlace = NormPlace::Around;
  m.names.ffnNorm.hf = "pre_feedforward_layernorm";
  m.keys.activation = "hidden_activation";
  readCommon(config, checkpoint, m);
  const char *window = config.isGguf() ? "attention.sliding_window" : "sliding_window";
  readWindows(config, m, config.countOr(window, 4096), [](int64_t i) { return i % 2 == 0; });
  m.attentionSoftcap =
      config.positiveOr("attn_logit_softcapping", config.isNull("attn_logit_softcapping") ? 0 : 50);
  m.finalSoftcap = config.positiveOr("final_logit_softcapping",
                                     config.isNull("final_logit_softcapping") ? 0 : 30);
  // Only the 27B model scales by its hidden size per head; GGUF has no key for this.
  const int64_t scaledBy = m.layers == 46 ? m.hidden / m.heads : m.headDim;
  m.attentionScale =
      1 / std::sqrt(config.isGguf() ? static_cast<double>(scaledBy)
                                    : config.positiveOr("query_pre_attn_scalar", 256));
}
