//===- Phi3.cpp - Phi-3, Phi-3.5, Phi-4, dense ----------------------------===//
//
// Llama's layer with packed tensors: rows [q|k|v] and [gate|up]. Long contexts turn by longrope, whose two
// lists of divisors are for contexts up to the original one and beyond it; an engine is made for one context,
// so for one list. Phi-4 mini turns three quarters of a head.
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
