//===- Phi3.cpp - Phi-3, Phi-3.5, Phi-4, dense ----------------------------===//
//
// Llama's layer with packed tensors: rows [q|k|v] and [gate|up]. Long contexts use longrope, which has one
// list of divisors for contexts up to the original one and another for longer ones; an engine is compiled for
// one context, and thus for one list. Phi-4 mini rotates three quarters of a head.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's Phi3Config.
void models::readPhi3(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 4096;
  m.eps = 1e-5;
  m.packing = Packing::Rows;
  m.gateUp = true;
  m.rotatesInPart = true;
  readSizes(config, checkpoint, m);
  if (config.isGguf()) {
    if (config.has("attention.sliding_window"))
      m.sameWindow(static_cast<int64_t>(config.numberOr("attention.sliding_window", 0)));
    return;
  }
  m.sameWindow(config.countOr("sliding_window", 0));
}
