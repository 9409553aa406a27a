//===- DecoderWeights.cpp - The tensors of a decoder ----------------------===//
#include "models/Decoder.h"
#include "models/ModelBuilder.h"

#include "compiler/import/error/ImportErrors.h"

#include <cmath>

using namespace ingot;
using namespace ingot::models;
using import::line;

namespace {

/// The weights that all layers share: rope frequencies, and the attention temperature of queries. Each may be null.
struct SharedWeights {
  lm::WeightOp frequencies, localFrequencies, temperature;
};

} // namespace

/// Takes the weight vector of a norm, and the bias of a layer norm.
static void takeNorm(ModelBuilder &model, LayerWeights &weights, int64_t layer, const Decoder &m,
                     const LayerTensor &tensor, int64_t length) {
  const bool bias = m.norm == Norm::Layer && m.normBias;
  model.addVector(weights, layer, tensor, length, bias ? Bias::Required : Bias::None);
}

static bool isTransposed(const ModelBuilder &model, const Decoder &m) {
  return m.transposed && !model.isGguf();
}

/// Rows of q, k or v (`part` 0 to 2) within a tensor that holds all three.
static RowOrder packedRows(const Decoder &m, Packing packing, int part) {
  const int64_t size = m.headDim, q = m.heads * size, kv = m.kvHeads * size;
  if (packing == Packing::Heads)
    return RowOrder::ofHeads(part * size, m.heads, size, 3 * size);
  return part == 0 ? RowOrder::range(0, q) : RowOrder::range(part == 1 ? q : q + kv, kv);
}

static void takeHeads(ModelBuilder &model, LayerWeights &weights, int64_t layer, const Decoder &m) {
  const DecoderNames &names = m.names;
  // In GGUFs the tensors show whether q, k and v are packed: newer converters pack them for any family.
  Packing packing = m.packing;
  if (model.isGguf())
    packing =
        model.hasTensor(line("blk.", layer, ".attn_qkv.weight")) ? Packing::Rows : Packing::Apart;
  const LayerTensor *apart[] = {&names.q, &names.k, &names.v};
  for (int part = 0; part < 3; ++part) {
    const int64_t rows = (part == 0 ? m.heads : m.kvHeads) * m.headDim;
    LayerTensor tensor = *apart[part];
    RowOrder order;
    if (packing != Packing::Apart) {
      tensor = {tensor.role, names.qkv.gguf, names.qkv.hf};
      order = packedRows(m, packing, part);
    }
    model.addMatrix(weights, layer, tensor, rows, m.hidden, m.attentionBias, order,
                    isTransposed(model, m));
  }
}

static void takeHeadNorms(ModelBuilder &model, LayerWeights &weights, int64_t layer,
                          const Decoder &m) {
  auto take = [&](const LayerTensor &norm, int64_t heads) {
    if (m.headNorm == HeadNorm::EachHead)
      model.addVectors(weights, layer, norm, heads, m.headDim, m.headNormsApart);
    else
      model.addVector(weights, layer, norm,
                      m.headNorm == HeadNorm::Row ? heads * m.headDim : m.headDim);
  };
  take(m.names.qNorm, m.heads);
  take(m.names.kNorm, m.kvHeads);
}

static void takeAttention(ModelBuilder &model, LayerWeights &weights, int64_t layer,
                          const Decoder &m, const SharedWeights &shared) {
  const LayerRules &rules = m.rulesOf(layer);
  takeHeads(model, weights, layer, m);
  if (m.headNorm != HeadNorm::None)
    takeHeadNorms(model, weights, layer, m);
  if (rules.rotates)
    weights.add("rope_freqs", rules.localRope ? shared.localFrequencies : shared.frequencies);
  if (shared.temperature)
    weights.add("q_temperature", shared.temperature);
  if (m.sinks)
    model.addVector(weights, layer, m.names.sinks, m.heads);
  model.addMatrix(weights, layer, m.names.output, m.hidden, m.heads * m.headDim, m.outputBias, {},
                  isTransposed(model, m));
}

static void takeMlp(ModelBuilder &model, LayerWeights &weights, int64_t layer, const Decoder &m) {
  const DecoderNames &names = m.names;
  const int64_t width = m.feedForward;
  const bool across = isTransposed(model, m);
  // A GGUF with one tensor for gate and up stores it under the name of `up`, and has no tensor for
  // the gate.
  const bool packed =
      m.gated &&
      (model.isGguf()
           ? model.rowsOf(line("blk.", layer, ".", names.up.gguf.str(), ".weight")) == 2 * width
           : m.gateUp);
  if (packed) {
    model.addMatrix(weights, layer, {names.gate.role, names.gateUp.gguf, names.gateUp.hf}, width,
                    m.hidden, m.mlpBias, RowOrder::range(0, width));
    model.addMatrix(weights, layer, {names.up.role, names.gateUp.gguf, names.gateUp.hf}, width,
                    m.hidden, m.mlpBias, RowOrder::range(width, width));
  } else {
    if (m.gated)
      model.addMatrix(weights, layer, names.gate, width, m.hidden, m.mlpBias, {}, across);
    model.addMatrix(weights, layer, names.up, width, m.hidden, m.mlpBias, {}, across);
  }
  model.addMatrix(weights, layer, names.down, m.hidden, width, m.mlpBias, {}, across);
}

/// Repeats each slope per channel, because kernels read vectors as wide as their rows.
static void takeSlopes(ModelBuilder &model, LayerWeights &weights, int64_t layer,
                       const Decoder &m) {
  const Xielu &slopes = m.xielu[static_cast<size_t>(layer)];
  auto add = [&](llvm::StringRef role, double slope) {
    const std::vector<float> channels(static_cast<size_t>(m.feedForward),
                                      static_cast<float>(slope));
    weights.add(role, model.values(line("blk.", layer, ".", role.str()), channels));
  };
  add("xielu_linear", slopes.linear);
  add("xielu_positive", slopes.positive);
  add("xielu_negative", slopes.negative);
}

/// Takes the tensors of layer i.
static LayerWeights takeLayer(ModelBuilder &model, const Decoder &m, int64_t i,
                              const SharedWeights &shared) {
  const LayerRules &rules = m.rulesOf(i);
  LayerWeights weights;
  if (m.normPlace != NormPlace::After)
    takeNorm(model, weights, i, m, m.names.attnNorm, m.hidden);
  if (rules.mixer)
    rules.mixer->take(model, weights, i, m);
  else
    takeAttention(model, weights, i, m, shared);
  if (m.normPlace != NormPlace::Before)
    takeNorm(model, weights, i, m, m.names.postAttentionNorm, m.hidden);
  if (m.normPlace != NormPlace::After && m.residual != Residual::OneNorm)
    takeNorm(model, weights, i, m, m.names.ffnNorm, m.hidden);
  if (m.experts && rules.experts)
    takeExperts(model, weights, i, m);
  else
    takeMlp(model, weights, i, m);
  if (!m.xielu.empty())
    takeSlopes(model, weights, i, m);
  if (m.normPlace != NormPlace::Before)
    takeNorm(model, weights, i, m, m.names.postFfnNorm, m.hidden);
  for (const std::string &tensor : m.unread)
    model.takeUnread(line(m.hf.layers.str(), i, ".", tensor));
  return weights;
}

//===----------------------------------------------------------------------===//
// The whole model
//===----------------------------------------------------------------------===//

static EntryWeights takeEmbedding(ModelBuilder &model, const Decoder &m) {
  EntryWeights entry;
  const llvm::StringRef source = model.isGguf() ? "token_embd.weight" : m.hf.embedding.data();
  entry.embedding = model.weight("token_embd", source, {m.vocab, m.hidden});
  if (m.positions)
    entry.positions = model.weight("position_embd",
                                   model.isGguf() ? "position_embd.weight" : m.hf.positions.data(),
                                   {m.context, m.hidden});
  entry.embeddingScale = m.embeddingScale;
  entry.norm = m.norm;
  entry.normEps = m.eps;
  entry.normWeightOffset = m.normWeightOffset;
  entry.logitsScale = m.logitsScale;
  entry.softcap = m.finalSoftcap;
  return entry;
}

static void takeHead(ModelBuilder &model, EntryWeights &entry, const Decoder &m) {
  const std::string norm = (model.isGguf() ? m.ggufOutputNorm : m.hf.outputNorm).str();
  entry.outputNorm = model.weight("output_norm", norm + ".weight", {m.hidden});
  if (m.norm == Norm::Layer && m.normBias)
    entry.outputNormBias = model.weight("output_norm_bias", norm + ".bias", {m.hidden});
  const llvm::StringRef output = model.isGguf() ? "output.weight" : m.hf.output.data();
  const bool tied = m.tied && !model.hasOwnHead(entry.embedding, output);
  entry.output = tied ? entry.embedding : model.weight("output", output, {m.vocab, m.hidden});
  if (!tied)
    entry.outputColumns = model.columnsOf("output_columns", output, m.hidden);
  if (m.headBias)
    entry.outputBias =
        model.weight("output_bias", output.drop_back(strlen("weight")).str() + "bias", {m.vocab});
}

static void takeFrequencies(ModelBuilder &model, const Decoder &m, SharedWeights &shared) {
  std::vector<float> divisors;
  // A GGUF stretches the context by divisors of the frequencies. longrope has two lists: one for contexts up to the
  // original one, and one for longer contexts.
  const bool longer = double(m.context) > m.rope.originalContext;
  if (model.hasTensor("rope_freqs.weight"))
    divisors = model.take("rope_freqs.weight", m.rotary / 2);
  for (const char *name : {"rope_factors_long.weight", "rope_factors_short.weight"})
    if (model.hasTensor(name) && (llvm::StringRef(name).contains("long") == longer))
      divisors = model.take(name, m.rotary / 2);
    else
      model.takeUnread(name);
  auto make = [&](llvm::StringRef symbol, const Rope &rope, llvm::ArrayRef<float> by) {
    return model.values(symbol, ropeFrequencies(rope, m.rotary, by));
  };
  shared.frequencies = make(m.localRope ? "rope_freqs_global" : "rope_freqs", m.rope, divisors);
  if (m.localRope)
    shared.localFrequencies = make("rope_freqs_local", *m.localRope, {});
}

static bool rotatesAnywhere(const Decoder &m) {
  return m.rules.empty() || llvm::any_of(m.rules, [](const LayerRules &rules) {
           return rules.rotates && !rules.mixer;
         });
}

static SharedWeights takeShared(ModelBuilder &model, const Decoder &m) {
  SharedWeights shared;
  if (rotatesAnywhere(m))
    takeFrequencies(model, m, shared);
  if (m.queryTemperature == 0 || m.context <= m.queryPeriod)
    return shared; // no position is large enough for a temperature
  std::vector<float> factors;
  for (int64_t i = 0; i * m.queryPeriod < m.context; ++i)
    factors.push_back(
        static_cast<float>(1 + m.queryTemperature * std::log1p(static_cast<double>(i))));
  shared.temperature = model.values("q_temperature", factors);
  return shared;
}

/// Performs the final checks of a configuration: head sizes are consistent, and no unread key matters.
static Result<void> finishConfig(Config &config, llvm::StringRef family, const Decoder &m) {
  checkHeads(config, m.heads, m.kvHeads, m.headDim, rotatesAnywhere(m) ? m.rotary : 0);
  if (!m.xielu.empty() && int64_t(m.xielu.size()) != m.layers)
    config.refuseValue("xielu.beta", line(m.xielu.size(), " numbers"), line(m.layers, " layers"));
  if (m.packing == Packing::Heads && m.kvHeads != m.heads)
    config.refuseValue(m.keys.kvHeads, line(m.kvHeads), line("the ", m.heads, " heads"));
  return config.finish(family);
}

ImportedModel models::importDecoder(mlir::MLIRContext &context,
                                    const import::Checkpoint &checkpoint, llvm::StringRef family,
                                    ReadDecoder read, Error &why) {
  const bool gguf = checkpoint.container == import::Container::Gguf;
  Config config(checkpoint, gguf ? checkpoint.architecture + "." : "");
  Decoder m;
  read(config, checkpoint, m);
  if (auto finished = finishConfig(config, family, m); !finished) {
    why = std::move(finished.error());
    return mlir::failure();
  }
  if (checkpoint.headless && (!m.tied || m.headBias)) {
    mlir::emitWarning(mlir::UnknownLoc::get(&context))
        << "warning: the checkpoint has no output head: embeddings are valid, logits are computed "
           "with the embedding matrix";
    m.tied = true;
    m.headBias = false;
  }
  ModelBuilder model(context, checkpoint, {family, m.vocab, m.hidden, m.context, m.hf});
  EntryWeights entry = takeEmbedding(model, m);
  const SharedWeights shared = takeShared(model, m);
  for (int64_t i = 0; i < m.layers && !model.failed(); ++i) {
    const LayerRules &rules = m.rulesOf(i);
    model.layer(rules.kind, takeLayer(model, m, i, shared),
                [&](LayerEmitter &layer) { return emitLayer(layer, m, rules); });
  }
  takeHead(model, entry, m);
  return model.finish(entry, why);
}
