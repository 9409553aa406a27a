//===- DecoderLayer.cpp - The computation of a decoder's layer -------------===//
#include "models/Decoder.h"
#include "models/LayerEmitter.h"

#include <cmath>

using namespace ingot;
using namespace ingot::models;
using mlir::Value;

static Value norm(LayerEmitter &layer, const Decoder &m, Value x, llvm::StringRef role,
                  int64_t heads = 1) {
  return m.norm == Norm::Layer ? layer.layerNorm(x, role, m.eps, heads, m.normWeightOffset)
                               : layer.rmsNorm(x, role, m.eps, heads, m.normWeightOffset);
}

/// Queries or keys: projected, normed and rotated in the family's order.
static Value headsOf(LayerEmitter &layer, const Decoder &m, const LayerRules &rules, Value normed,
                     llvm::StringRef role, llvm::StringRef normRole, int64_t heads) {
  Value x = layer.linear(normed, role);
  auto normHeads = [&](int64_t count) { return norm(layer, m, x, normRole, count); };
  if (m.headNorm == HeadNorm::Row)
    x = normHeads(1);
  if (m.headNorm == HeadNorm::Head || m.headNorm == HeadNorm::EachHead)
    x = normHeads(heads);
  const Rope &rope = rules.localRope ? *m.localRope : m.rope;
  if (rules.rotates)
    x = layer.rope(x, "rope_freqs", heads, m.style, rope.attentionFactor);
  if (m.headNorm == HeadNorm::HeadAfterRope)
    x = normHeads(heads);
  return x;
}

static Value attend(LayerEmitter &layer, const Decoder &m, const LayerRules &rules, Value normed) {
  Value q = headsOf(layer, m, rules, normed, "attn_q", "attn_q_norm", m.heads);
  Value k = headsOf(layer, m, rules, normed, "attn_k", "attn_k_norm", m.kvHeads);
  Value v = layer.linear(normed, "attn_v");
  if (layer.has("q_temperature"))
    q = layer.scaleByPosition(q, "q_temperature", m.queryPeriod);
  const double scale =
      m.attentionScale != 0 ? m.attentionScale : 1 / std::sqrt(static_cast<double>(m.headDim));
  Value attended =
      layer.attention(q, k, v, {m.heads, m.kvHeads, scale, rules.window, m.attentionSoftcap});
  return layer.linear(attended, "attn_output");
}

Value models::emitLayer(LayerEmitter &layer, const Decoder &m, const LayerRules &rules) {
  Value x = layer.x;
  const bool before = m.normPlace != NormPlace::After, behind = m.normPlace != NormPlace::Before;
  auto add = [&](Value h, Value part, llvm::StringRef postNorm) {
    if (behind)
      part = norm(layer, m, part, postNorm);
    return layer.add(h, layer.scale(part, m.residualScale));
  };
  Value normed = before ? norm(layer, m, x, "attn_norm") : x;
  // The norm is computed before anything is added to x, so that the sum can overwrite x.
  Value ffnInput = m.residual == Residual::OneNorm    ? normed
                   : m.residual == Residual::Parallel ? norm(layer, m, x, "ffn_norm")
                                                      : Value();
  Value mixed = rules.mixer ? rules.mixer->emit(layer, normed, m) : attend(layer, m, rules, normed);
  Value h = add(x, mixed, "post_attention_norm");
  if (!ffnInput)
    ffnInput = before ? norm(layer, m, h, "ffn_norm") : h;
  Value f = m.experts && rules.experts ? emitExperts(layer, m, ffnInput)
            : !m.xielu.empty()         ? layer.xieluMlp(ffnInput)
            : m.gated                  ? layer.gatedMlp(ffnInput, m.activation)
                                       : layer.mlp(ffnInput, m.activation);
  return add(h, f, "post_ffw_norm");
}
