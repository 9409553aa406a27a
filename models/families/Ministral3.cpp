//===- Ministral3.cpp - Ministral 3 and Mistral 3.x, text -----------------===//
//
// Llama's layer with yarn. Beyond the original context, queries at position p are multiplied by 1 + beta
// ln(1 + floor(p / original)). (HF modeling_ministral3.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's Ministral3Config.
void models::readMinistral3(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 262144;
  m.kvHeads = 8;
  m.headDim = 128;
  m.eps = 1e-5;
  m.rope.base = 1000000;
  readSizes(config, checkpoint, m);
  if (config.isGguf()) {
    m.style = lm::RopeStyle::Interleaved; // q and k are permuted, as Llama's
    m.queryTemperature = config.numberOr("attention.temperature_scale", 0);
    m.queryPeriod = config.countOr("attention.temperature_length",
                                   static_cast<int64_t>(m.rope.originalContext));
    return;
  }
  m.queryTemperature = config.numberOr("rope_parameters.llama_4_scaling_beta", 0);
  m.queryPeriod = static_cast<int64_t>(m.rope.originalContext);
  m.sameWindow(config.countOr("sliding_window", 0));
}
