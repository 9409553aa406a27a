//===- MiniMaxM2.cpp - MiniMax-M2 -----------------------------------------===//
//
// Llama's layer with norms of q and k as whole rows; half of each head is rotated. The score of an expert is a
// sigmoid. A bias affects only the choice of experts, and the weights of the chosen ones are normalised to a sum of 1.
// (HF modeling_minimax_m2.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include "compiler/import/error/ImportErrors.h"

using namespace ingot;
using namespace ingot::models;

/// Names in the hub's files; transformers 5 saves under its own names.
static constexpr ExpertNames kOnHub = {
    .router = {"ffn_gate_inp", "ffn_gate_inp", "block_sparse_moe.gate"},
    .selectBias = {"exp_probs_b", "exp_probs_b.bias", "block_sparse_moe.e_score_correction_bias",
                   /*whole=*/true},
    .experts = "block_sparse_moe.experts",
    .gate = "w1",
    .up = "w3",
    .down = "w2"};

/// Defaults of HF's MiniMaxM2Config.
void models::readMiniMaxM2(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 196608;
  m.kvHeads = 8;
  m.headDim = 128;
  m.rope.base = 5000000;
  m.headNorm = HeadNorm::Row;
  m.rotatesInPart = true;
  Experts &experts = m.experts.emplace();
  experts.widthKey = "intermediate_size";
  experts.route.score = lm::RouteScore::Sigmoid;
  experts.selectBias = true;
  if (checkpoint.find("model.layers.0.block_sparse_moe.gate.weight"))
    experts.names = kOnHub;
  else
    experts.names.selectBias.hf = "mlp.e_score_correction_bias";
  readSizes(config, checkpoint, m);
  readExperts(config, m);
  if (!config.isGguf())
    m.rotary = config.countOr("rotary_dim", m.rotary);
}
