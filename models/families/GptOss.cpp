//===- GptOss.cpp - gpt-oss 20B and 120B ----------------------------------===//
//
// There are biases everywhere, heads have sinks, and every other layer has a window. Experts are chosen by their
// logits, and a softmax over the logits of the chosen experts gives their weights. Each expert computes down((up' + 1)
// * gate' * sigmoid(1.702 gate')) with gate' and up' clamped. Checkpoints interleave the rows of gate and up; BF16
// checkpoints store matrices transposed. (HF modeling_gpt_oss.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include <cmath>

using namespace ingot;
using namespace ingot::models;

static Experts defaultExperts() {
  Experts experts;
  experts.route.score = lm::RouteScore::None;
  experts.route.normalize = lm::RouteNorm::Softmax;
  experts.bias = experts.inTurns = experts.across = true;
  experts.swigluLimit = 7;
  experts.widthKey = "intermediate_size";
  experts.names.router.hf = "mlp.router";
  return experts;
}

/// Defaults of HF's GptOssConfig.
void models::readGptOss(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 131072;
  m.kvHeads = 8;
  m.headDim = 64;
  m.eps = 1e-5;
  m.rope.base = 150000;
  m.sinks = true;
  m.experts = defaultExperts();
  m.names.ffnNorm.gguf = "post_attention_norm";
  const bool stretched =
      config.isGguf() || config.hasScope("rope_scaling.") || config.hasScope("rope_parameters.");
  readSizes(config, checkpoint, m);
  readExperts(config, m);
  if (!stretched) {
    m.rope.scaling = Rope::Scaling::Yarn;
    m.rope.factor = 32;
    m.rope.originalContext = 4096;
    m.rope.attentionFactor = 0.1 * std::log(32.0) + 1;
  }
  if (config.isGguf() || !stretched)
    m.rope.truncate = false;
  if (!config.isGguf()) {
    m.experts->swigluAlpha = config.positiveOr("swiglu_alpha", 1.702);
    m.experts->swigluLimit = config.positiveOr("swiglu_limit", 7);
  }
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias}, true);
  const char *key = config.isGguf() ? "attention.sliding_window" : "sliding_window";
  readWindows(config, m, config.countOr(key, 128), [](int64_t i) { return i % 2 == 0; });
}
