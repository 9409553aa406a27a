//===- Granite.cpp - Granite 3 and 4 without state spaces -----------------===//
//
// Llama's layer with four multipliers: of the embedding, of each sublayer's output, of the attention scores
// and, as a divisor, of the logits. GGUF files hold q and k permuted, as Llama's GGUF files do. Experts are chosen by
// their logits, and a softmax over the logits of the chosen experts gives their weights.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include "compiler/import/error/ImportErrors.h"

using namespace ingot;
using namespace ingot::models;

/// The names of expert stacks on the hub, gate above up. transformers may save them under its own names.
static constexpr ExpertNames kOnHub = {
    .router = {"ffn_gate_inp", "ffn_gate_inp", "block_sparse_moe.router.layer"},
    .gateUp = "block_sparse_moe.input_linear.weight",
    .downStack = "block_sparse_moe.output_linear.weight"};
static constexpr ExpertNames kOfTransformers = {
    .router = {"ffn_gate_inp", "ffn_gate_inp", "block_sparse_moe.router"},
    .gateUp = "block_sparse_moe.experts.gate_up_proj",
    .downStack = "block_sparse_moe.experts.down_proj"};

static bool isHybrid(const import::Checkpoint &checkpoint) {
  return llvm::StringRef(checkpoint.architecture).starts_with_insensitive("granitemoehybrid") ||
         checkpoint.architecture == "granitehybrid";
}

/// Refuses Mamba layers. Granite 4's class has both Mamba and attention layers; in its dense models all
/// layers are attention.
static void requireAttention(Config &config, int64_t layers) {
  const char *key = config.has("layers_block_type") ? "layers_block_type" : "layer_types";
  std::vector<std::string> types = config.texts(key);
  if (types.empty())
    types.assign(static_cast<size_t>(layers), "mamba"); // the default of the class
  std::string others;
  for (auto [i, type] : llvm::enumerate(types))
    if (type != "attention" && type != "full_attention" && others.size() < 32)
      others += import::line(others.empty() ? type + " in layers " : ", ", i);
  if (!others.empty())
    config.refuseValue(key, others, "attention in all layers");
  else if (static_cast<int64_t>(types.size()) != layers)
    config.refuseValue(key, import::line(types.size(), " layers"), import::line(layers, " layers"));
}

static Experts expertsOfGranite(const import::Checkpoint &checkpoint) {
  Experts experts;
  experts.widthKey = "intermediate_size";
  experts.route.score = lm::RouteScore::None;
  experts.route.normalize = lm::RouteNorm::Softmax;
  const bool own = checkpoint.find("model.layers.0.block_sparse_moe.router.weight");
  experts.names = own ? kOfTransformers : kOnHub;
  experts.sharedRows = true;
  experts.names.sharedGate.hf = experts.names.sharedUp.hf = "shared_mlp.input_linear";
  experts.names.sharedDown.hf = "shared_mlp.output_linear";
  return experts;
}

/// Sets the names and the size of the shared MLP, which is the only MLP of a model without experts.
static void setDenseMlp(Decoder &m) {
  m.gateUp = true;
  m.names.gateUp.hf = "shared_mlp.input_linear";
  m.names.down.hf = "shared_mlp.output_linear";
  m.keys.feedForward = "shared_intermediate_size";
  m.feedForward = 1024;
}

/// Defaults of HF's GraniteConfig, GraniteMoeConfig, GraniteMoeSharedConfig and GraniteMoeHybridConfig.
static void readAny(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  const bool gguf = config.isGguf(), hybrid = isHybrid(checkpoint) && !gguf;
  m.style = gguf ? lm::RopeStyle::Interleaved : lm::RopeStyle::Half;
  if (hybrid && !m.experts)
    setDenseMlp(m);
  readSizes(config, checkpoint, m);
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  if (!m.experts && !hybrid)
    readBias(config, "mlp_bias", {&m.mlpBias});
  m.embeddingScale = config.positiveOr(gguf ? "embedding_scale" : "embedding_multiplier", 1);
  m.residualScale = config.positiveOr(gguf ? "residual_scale" : "residual_multiplier", 1);
  m.attentionScale =
      config.positiveOr(gguf ? "attention.scale" : "attention_multiplier", gguf ? 0 : 1);
  m.logitsScale = 1 / config.positiveOr(gguf ? "logit_scale" : "logits_scaling", 1);
  bool rotates = true;
  if (gguf) {
    rotates = config.flagOr("rope.scaling.finetuned", true); // llama.cpp's switch
    if (!m.experts)
      m.feedForward = config.sizeOr("expert_shared_feed_forward_length", m.feedForward);
  } else if (hybrid) {
    requireAttention(config, m.layers);
    rotates = config.textOr("position_embedding_type", "") == "rope";
  }
  if (!rotates)
    m.rules.assign(static_cast<size_t>(m.layers), LayerRules{.rotates = false});
  if (!m.experts)
    return;
  readExperts(config, m);
  if (!gguf)
    m.experts->sharedWidth = config.sizeOr("shared_intermediate_size", hybrid ? 1024 : 0);
}

void models::readGraniteMoe(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  // llama.cpp's converter also names a dense Granite 4 granitemoe if its configuration has a number of experts per
  // token.
  if (!config.isGguf() || config.sizeOr("expert_count", 0) > 0)
    m.experts = expertsOfGranite(checkpoint);
  readAny(config, checkpoint, m);
}

void models::readGranite(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  if (isHybrid(checkpoint) && config.sizeOr(config.isGguf() ? "expert_count" : "num_local_experts",
                                            config.isGguf() ? 0 : 8) > 0)
    m.experts = expertsOfGranite(checkpoint);
  readAny(config, checkpoint, m);
}
