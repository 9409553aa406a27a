//===- Olmo.cpp - OLMo 2 and 3 --------------------------------------------===//
//
// Norms follow their sublayers: h += norm(attend(h)), and q and k are normed as whole rows. In OLMo 3, three of every
// four layers have a window. RoPE scaling applies only to the layers without a window. (arXiv:2501.00656; HF
// modeling_olmo2.py, modeling_olmo3.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's Olmo2Config and Olmo3Config.
void models::readOlmo(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  const bool third = llvm::StringRef(checkpoint.architecture).starts_with_insensitive("olmo3");
  m.normPlace = NormPlace::After;
  m.headNorm = HeadNorm::Row;
  m.eps = 1e-5;
  if (third) {
    m.rope.base = 500000;
    m.localRope = m.rope;
  }
  readSizes(config, checkpoint, m);
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  const char *key = config.isGguf() ? "attention.sliding_window" : "sliding_window";
  if (!config.has(key) && !third)
    return;           // OLMo 2
  if (!m.localRope) { // GGUF
    m.localRope.emplace();
    m.localRope->base = config.positiveOr("rope.freq_base_swa", m.rope.base);
  }
  readWindows(config, m, config.countOr(key, 4096), [](int64_t i) { return (i + 1) % 4 != 0; });
}
