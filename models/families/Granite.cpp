//===- Granite.cpp - Granite 3 and 4 without state spaces -----------------===//
//
// Llama's layer with four multipliers: of the embedding, of what a sublayer adds, of the attention's scores
// and, as a divisor, of the logits. GGUF files hold q and k permuted, as Llama's. Of experts the best are chosen
// by their logits, which a softmax over them makes weights of.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// The hub's names of stacks, gate above up. transformers saves its own, if it is told to.
static constexpr ExpertNames kOnHub = {
    .router = {"ffn_gate_inp", "ffn_gate_inp", "block_sparse_moe.router.layer"},
    .gateUp = "block_sparse_moe.input_linear.weight",
    .downStack = "block_sparse_moe.output_linear.weight"};
static constexpr ExpertNames kOfTransformers = {
    .router = {"ffn_gate_inp", "ffn_gate_inp", "block_sparse_moe.router"},
    .gateUp = "block_sparse_moe.experts.gate_up_proj",
    .downStack = "block_sparse_moe.experts.down_proj"};

/// Defaults of HF's GraniteMoeConfig and GraniteMoeSharedConfig.
void models::readGraniteMoe(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  Experts &experts = m.experts.emplace();
  experts.widthKey = "intermediate_size";
  experts.route.score = lm::RouteScore::None;
  experts.route.normalize = lm::RouteNorm::Softmax;
  const bool own = checkpoint.find("model.layers.0.block_sparse_moe.router.weight");
  experts.names = own ? kOfTransformers : kOnHub;
  experts.sharedRows = true;
  experts.names.sharedGate.hf = experts.names.sharedUp.hf = "shared_mlp.input_linear";
  experts.names.sharedDown.hf = "shared_mlp.output_linear";
  readGranite(config, checkpoint, m);
  readExperts(config, m);
  if (!config.isGguf())
    experts.sharedWidth = static_cast<int64_t>(config.numberOr("shared_intermediate_size", 0));
}

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
