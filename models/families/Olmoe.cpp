//===- Olmoe.cpp - OLMoE 1B-7B --------------------------------------------===//
//
// Llama's layer with norms of q and k as whole rows, and with experts, which are chosen by the softmax over all
// experts. (arXiv:2409.02060; HF modeling_olmoe.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's OlmoeConfig.
void models::readOlmoe(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 4096;
  m.eps = 1e-5;
  m.headNorm = HeadNorm::Row;
  Experts &experts = m.experts.emplace();
  experts.route.normalize = lm::RouteNorm::None;
  experts.widthKey = "intermediate_size";
  readSizes(config, checkpoint, m);
  readExperts(config, m);
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  if (config.flagOr("norm_topk_prob", false))
    experts.route.normalize = lm::RouteNorm::Sum;
  if (config.has("clip_qkv"))
    config.refuseValue("clip_qkv", "a number", "null");
}
