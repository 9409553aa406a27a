//===- Dots1.cpp - dots.llm1 ----------------------------------------------===//
//
// Qwen3's layer with DeepSeek-V3's experts: the first layers are dense; the others have a shared MLP and
// experts, which are chosen in groups. (HF modeling_dots1.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include "compiler/import/error/ImportErrors.h"

using namespace ingot;
using namespace ingot::models;

/// If there is a window, the first layers attend to all positions and the others to the window. No published model has
/// one.
static void readDotsWindows(Config &config, Decoder &m) {
  const auto from = static_cast<int64_t>(config.numberOr("max_window_layers", 62));
  const bool none = config.isNull("sliding_window");
  const int64_t window = none ? 0 : config.countOr("sliding_window", 4096);
  readWindows(config, m, window, [&](int64_t i) { return !none && i >= from; });
}

/// Defaults of HF's Dots1Config.
void models::readDots1(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.kvHeads = 32;
  m.headNorm = HeadNorm::Head;
  setGroupedRouter(config, m.experts.emplace());
  readSizes(config, checkpoint, m);
  readExperts(config, m);
  if (config.isGguf())
    return;
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  readDotsWindows(config, m);
  readGroupedRouter(config, m, /*normalized=*/false, /*dense=*/0);
}
