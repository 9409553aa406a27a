//===- Mixtral.cpp - Mixtral 8x7B and 8x22B -------------------------------===//
//
// Mistral's layer with experts. The best two are chosen by the softmax over all experts, and their weights are
// normalised to a sum of 1. A GGUF states the architecture llama; Llama.cpp recognises it by its experts.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Names in the hub's files; transformers 5 saves under its own names.
static constexpr ExpertNames kOnHub = {
    .router = {"ffn_gate_inp", "ffn_gate_inp", "block_sparse_moe.gate"},
    .experts = "block_sparse_moe.experts",
    .gate = "w1",
    .up = "w3",
    .down = "w2"};

/// Defaults of HF's MixtralConfig.
void models::readMixtral(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 131072;
  m.kvHeads = 8;
  m.eps = 1e-5;
  m.rope.base = 1000000;
  m.experts.emplace();
  m.experts->widthKey = "intermediate_size";
  if (checkpoint.find("model.layers.0.block_sparse_moe.gate.weight"))
    m.experts->names = kOnHub;
  readSizes(config, checkpoint, m);
  readExperts(config, m);
  m.sameWindow(config.countOr("sliding_window", 0));
}
