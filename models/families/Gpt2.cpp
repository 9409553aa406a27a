//===- Gpt2.cpp - GPT-2 and similar models --------------------------------===//
//
// Positions are learned rows that are added to the embedding. There are layer norms, biases everywhere, and an MLP
// without a gate. HF's matrices are stored as [columns][rows], with q, k and v concatenated. GGUF files store them as
// they do for other families.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

static void readHf(Config &config, Decoder &m) {
  m.attentionBias = m.outputBias = m.mlpBias = Bias::Required;
  m.unread = {"attn.bias", "attn.masked_bias"}; // the causal mask
}

/// Defaults of HF's GPT2Config.
void models::readGpt2(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.norm = Norm::Layer;
  m.gated = false;
  m.positions = true;
  m.transposed = true;
  m.packing = Packing::Rows;
  m.context = 1024;
  m.eps = 1e-5;
  m.tied = true;
  m.activation = lm::ActivationKind::GeluTanh;
  m.activationOtherwise = "gelu_new";
  m.hf = {"transformer.h.", "transformer.wte.weight", "transformer.ln_f", "lm_head.weight",
          "transformer.wpe.weight"};
  m.keys.layers = "n_layer";
  m.keys.hidden = "n_embd";
  m.keys.feedForward = "n_inner";
  m.keys.heads = "n_head";
  m.keys.context = "n_positions";
  m.keys.eps = "layer_norm_epsilon";
  m.keys.activation = "activation_function";
  m.names.attnNorm.hf = "ln_1";
  m.names.qkv.hf = "attn.c_attn";
  m.names.output.hf = "attn.c_proj";
  m.names.ffnNorm.hf = "ln_2";
  m.names.up.hf = "mlp.c_fc";
  m.names.down.hf = "mlp.c_proj";
  m.feedForward = 4 * config.countOr("n_embd", 768); // default if n_inner is null
  readSizes(config, checkpoint, m);
  if (!config.isGguf())
    readHf(config, m);
  m.rules.assign(static_cast<size_t>(m.layers), LayerRules{.rotates = false});
}
