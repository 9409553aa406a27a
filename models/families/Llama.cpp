//===- Llama.cpp - Llama 1 to 3, Mistral, SmolLM and similar --------------===//
//
// The plain decoder. GGUF files hold q and k with the rows of each head permuted, so that rope rotates the
// pairs (2i, 2i+1) rather than HF's (i, i + half).
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include "compiler/import/error/ImportErrors.h"

using namespace ingot;
using namespace ingot::models;

/// Defaults of HF's LlamaConfig and MistralConfig. Only Mistral has a window: HF's Llama ignores the key,
/// which some configurations have.
void models::readLlama(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  const bool mistral = llvm::StringRef(checkpoint.architecture).starts_with_insensitive("mistral");
  if (mistral)
    m.context = 131072, m.kvHeads = 8;
  if (config.isGguf() && config.numberOr("expert_count", 0) > 0)
    m.experts.emplace(); // Mixtral
  readSizes(config, checkpoint, m);
  if (config.isGguf()) {
    m.style = lm::RopeStyle::Interleaved;
    if (m.experts)
      readExperts(config, m);
    return;
  }
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  readBias(config, "mlp_bias", {&m.mlpBias});
  if (mistral)
    m.sameWindow(config.countOr("sliding_window", config.isNull("sliding_window") ? 0 : 4096));
  for (const std::string &type : config.texts("layer_types"))
    if (type != "full_attention" && !(mistral && type == "sliding_attention"))
      config.refuseValue("layer_types", import::inQuotes(type), "full_attention");
  m.unread = {
      "self_attn.rotary_emb.inv_freq"}; // early converters stored these; they are computed here
}
