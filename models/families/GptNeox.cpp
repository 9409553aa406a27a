//===- GptNeox.cpp - GPT-NeoX 20B, Pythia and similar models ---------------===//
//
// Attention and MLP read the same h, each with a norm of its own (or run sequentially, in older models). All
// norms are layer norms, all projections except the head have biases, and part of each head is rotated. q, k
// and v are packed: HF has rows [head][q, k, v][head_dim], GGUF [q, k, v][head][head_dim].
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include "compiler/import/error/ImportErrors.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's GPTNeoXConfig.
void models::readGptNeox(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.norm = Norm::Layer;
  m.eps = 1e-5;
  m.packing = Packing::Heads;
  m.gated = false;
  m.rotatesInPart = true;
  m.partialRotary = 0.25;
  m.activation = lm::ActivationKind::Gelu; // Pythia's; GGUF has no key for it
  m.activationOtherwise = "gelu";
  m.hf = {"gpt_neox.layers.", "gpt_neox.embed_in.weight", "gpt_neox.final_layer_norm",
          "embed_out.weight"};
  m.names.qkv.hf = "attention.query_key_value";
  m.names.output.hf = "attention.dense";
  m.names.up.hf = "mlp.dense_h_to_4h";
  m.names.down.hf = "mlp.dense_4h_to_h";
  m.keys.eps = "layer_norm_eps";
  m.keys.ropeBase = "rotary_emb_base";
  m.keys.partialRotary = "rotary_pct";
  readSizes(config, checkpoint, m);
  m.residual =
      config.flagOr("use_parallel_residual", true) ? Residual::Parallel : Residual::Sequential;
  if (config.isGguf())
    return;
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias}, true);
  m.mlpBias = Bias::Required;
  if (m.hidden % m.heads)
    config.refuseValue("hidden_size", import::line(m.hidden),
                       import::line("multiples of the ", m.heads, " heads"));
  // In older files: frequencies that we compute, and the causal mask.
  m.unread = {"attention.rotary_emb.inv_freq", "attention.bias", "attention.masked_bias"};
}
