//===- Lfm2Moe.cpp - LFM2-MoE -----------------------------------------------===//
//
// LFM2's layers, of which all but the first few have experts. Experts are chosen by a sigmoid plus a bias, and their
// weights are normalised without the bias. (HF modeling_lfm2_moe.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

static Experts expertsOfLfm2() {
  Experts experts;
  experts.route.score = lm::RouteScore::Sigmoid;
  experts.route.normEps = 1e-6;
  experts.selectBias = true;
  ExpertNames &names = experts.names;
  names.router.hf = "feed_forward.gate";
  names.selectBias.hf = "feed_forward.expert_bias";
  names.experts = "feed_forward.experts";
  names.gate = "w1";
  names.up = "w3";
  names.down = "w2";
  names.gateUp = "feed_forward.experts.gate_up_proj";
  names.downStack = "feed_forward.experts.down_proj";
  return experts;
}

/// Defaults of HF's Lfm2MoeConfig.
void models::readLfm2Moe(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.experts = expertsOfLfm2();
  readLfm2(config, checkpoint, m);
}
