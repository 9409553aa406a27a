//===- Exaone4.cpp - EXAONE 4 ---------------------------------------------===//
//
// Norms follow their sublayers, and heads of q and k are normed. If a model has a window, three of every four
// layers use it, and only these layers rotate q and k. (arXiv:2507.11407; HF modeling_exaone4.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's Exaone4Config.
void models::readExaone4(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.normPlace = NormPlace::After;
  m.headNorm = HeadNorm::Head;
  m.eps = 1e-5;
  readSizes(config, checkpoint, m);
  const char *key = config.isGguf() ? "attention.sliding_window" : "sliding_window";
  const int64_t window = config.has(key) ? config.count(key) : 0;
  // A pattern is a period, or a string of letters such as LLLG; the list of layers has the same meaning.
  int64_t period = 4;
  if (!config.isGguf() && config.has("sliding_window_pattern")) {
    if (config.isText("sliding_window_pattern"))
      period = static_cast<int64_t>(config.textOr("sliding_window_pattern", "LLLG").size());
    else
      period = config.count("sliding_window_pattern");
  }
  if (!window) {
    config.passOver({"layer_types"});
    return;
  }
  readWindows(config, m, window, [&](int64_t i) { return (i + 1) % period != 0; });
  for (LayerRules &rules : m.rules)
    rules.rotates = rules.window != 0;
}
