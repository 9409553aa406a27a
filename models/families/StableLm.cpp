//===- StableLm.cpp - StableLM 2 and StableLM Zephyr ----------------------===//
//
// Llama's layer with layer norms; a quarter of each head is rotated. In the 12B model, both sublayers share
// one norm, and each head of q and k is normed by a weight of its own.
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
  m.names.qNorm.hf = "self_attn.q_layernorm.norms";
  m.names.kNorm.hf = "self_attn.k_layernorm.norms";
  m.headNormsApart = true;
  readSizes(config, checkpoint, m);
  readBias(config, "use_qkv_bias", {&m.attentionBias});
  if (config.flagOr("use_parallel_residual", false))
    m.residual = Residual::OneNorm;
  // Some converters write GGUFs of the 12B model without its head norms. They are refused, because they would compute
  // something else.
  if (config.isGguf()
          ? m.residual == Residual::OneNorm || checkpoint.find("blk.0.attn_q_norm.weight")
          : config.flagOr("qk_layernorm", false))
    m.headNorm = HeadNorm::EachHead;
}
