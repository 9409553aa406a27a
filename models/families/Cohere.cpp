//===- Cohere.cpp - Command R, R+ and R7B, Aya ----------------------------===//
//
// Both sublayers read the same h through one layer norm without a bias; heads rotate adjacent pairs; the
// logits are scaled. Command R+ norms each head of q and k by a weight of its own. In Command R7B (Cohere2),
// three of every four layers have a window, and only these layers rotate q and k. (HF modeling_cohere.py,
// modeling_cohere2.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's CohereConfig and Cohere2Config.
void models::readCohere(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  const bool second = llvm::StringRef(checkpoint.architecture).starts_with_insensitive("cohere2");
  m.norm = Norm::Layer;
  m.normBias = false;
  m.residual = Residual::OneNorm;
  m.context = 8192;
  m.eps = 1e-5;
  m.tied = true;
  m.style = lm::RopeStyle::Interleaved;
  m.keys.eps = "layer_norm_eps";
  if (second)
    m.keys.headDim = "no head_dim"; // HF ignores it
  else
    m.rope.base = 500000;
  readSizes(config, checkpoint, m);
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  m.logitsScale = config.positiveOr("logit_scale", 0.0625);
  if (!second && (config.isGguf() ? checkpoint.find("blk.0.attn_q_norm.weight") != nullptr
                                  : config.flagOr("use_qk_norm", false)))
    m.headNorm = HeadNorm::EachHead;
  if (!second)
    return;
  const char *window = config.isGguf() ? "attention.sliding_window" : "sliding_window";
  const int64_t period = config.isGguf() ? 4 : config.countOr("sliding_window_pattern", 4);
  readWindows(config, m, config.countOr(window, 4096),
              [&](int64_t i) { return (i + 1) % period != 0; });
  for (LayerRules &rules : m.rules)
    rules.rotates = rules.window != 0;
}
