//===- Decoder.cpp - What decoder-only families have in common ------------===//
#include "models/Decoder.h"

using namespace ingot;
using namespace ingot::models;

void models::readGgufSizes(Config &config, const import::Checkpoint &checkpoint, Decoder &to) {
  to.layers = config.count("block_count", kMostLayers);
  to.context = config.count("context_length");
  to.hidden = config.count("embedding_length");
  to.feedForward = config.count("feed_forward_length");
  to.heads = config.count("attention.head_count");
  // Of each layer, where some have no attention: the family reads the list.
  const char *kvHeads = "attention.head_count_kv";
  to.kvHeads = config.hasArray(kvHeads) ? to.heads : config.countOr(kvHeads, to.heads);
  to.headDim = config.countOr("attention.key_length", to.hidden / to.heads);
  config.requireCount("attention.value_length", to.headDim);
  to.eps = config.positive(to.norm == Norm::Layer ? "attention.layer_norm_epsilon"
                                                  : "attention.layer_norm_rms_epsilon");
  to.tied = !checkpoint.find("output.weight");
  to.attentionBias = to.mlpBias = Bias::IfPresent;
  // Older files have no vocabulary size: the embedding's rows say it.
  const import::Tensor *embedding = checkpoint.find("token_embd.weight");
  to.vocab = config.countOr("vocab_size", embedding ? embedding->shape.front() : 1);
  config.harmless({"rope.scaling.original_context_length", "rope.scaling.finetuned"});
}

Result<void> models::finishConfig(Config &config, const Decoder &m, int64_t rotary) {
  checkHeads(config, m.heads, m.kvHeads, m.headDim, rotary);
  config.harmlessEverywhere();
  return config.finish();
}

void models::takeProjections(ModelBuilder &model, LayerWeights &weights, int64_t layer,
                             const Decoder &m) {
  model.addMatrix(weights, layer, kAttnQ, m.heads * m.headDim, m.hidden, m.attentionBias);
  model.addMatrix(weights, layer, kAttnK, m.kvHeads * m.headDim, m.hidden, m.attentionBias);
  model.addMatrix(weights, layer, kAttnV, m.kvHeads * m.headDim, m.hidden, m.attentionBias);
}

void models::takeAttentionOutput(ModelBuilder &model, LayerWeights &weights, int64_t layer,
                                 const Decoder &m) {
  model.addMatrix(weights, layer, kAttnOutput, m.hidden, m.heads * m.headDim, m.attentionBias);
}

void models::takeMlp(ModelBuilder &model, LayerWeights &weights, int64_t layer, const Decoder &m) {
  model.addMatrix(weights, layer, kFfnGate, m.feedForward, m.hidden, m.mlpBias);
  model.addMatrix(weights, layer, kFfnUp, m.feedForward, m.hidden, m.mlpBias);
  model.addMatrix(weights, layer, kFfnDown, m.hidden, m.feedForward, m.mlpBias);
}

EntryWeights models::takeEmbedding(ModelBuilder &model, const Decoder &m, bool gguf) {
  EntryWeights entry;
  const llvm::StringRef source = gguf ? "token_embd.weight" : model.names().embedding.data();
  entry.embedding = model.weight("token_embd", source, {m.vocab, m.hidden});
  entry.norm = m.norm;
  entry.normEps = m.eps;
  return entry;
}

void models::takeHead(ModelBuilder &model, EntryWeights &entry, const Decoder &m, bool gguf) {
  const std::string norm = (gguf ? m.ggufOutputNorm : model.names().outputNorm).str();
  entry.outputNorm = model.weight("output_norm", norm + ".weight", {m.hidden});
  if (m.norm == Norm::Layer)
    entry.outputNormBias = model.weight("output_norm_bias", norm + ".bias", {m.hidden});
  const llvm::StringRef output = gguf ? "output.weight" : model.names().output.data();
  entry.output = m.tied ? model.tiedOutput(entry.embedding, output)
                        : model.weight("output", output, {m.vocab, m.hidden});
}
