//===- Ernie.cpp - ERNIE 4.5, dense ---------------------------------------===//
//
// Llama's layer; heads turn in neighbouring pairs in both containers.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's Ernie4_5Config.
void models::readErnie(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.style = lm::RopeStyle::Interleaved;
  m.context = 131072;
  m.kvHeads = 2;
  m.headDim = 128;
  m.eps = 1e-5;
  m.rope.base = 500000;
  m.tied = true;
  readSizes(config, checkpoint, m);
  readBias(config, "use_bias", {&m.attentionBias, &m.outputBias, &m.mlpBias});
}
