//===- QwenMoe.cpp - Qwen1.5-MoE, Qwen2-MoE and Qwen3-MoE -----------------===//
//
// Qwen's layer with experts, which are chosen by the softmax over all of them; Qwen3 normalises their weights to a sum
// of 1. In Qwen2 every token also goes through a shared MLP, scaled by a factor of its own. In the configuration, a
// list (mlp_only_layers) or a step (decoder_sparse_step) may leave layers dense.
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

using namespace ingot;
using namespace ingot::models;

static void readQwenExperts(Config &config, Decoder &m, bool normalized) {
  readExperts(config, m);
  if (config.isGguf())
    return;
  lm::RouteNorm &normalize = m.experts->route.normalize;
  normalize =
      config.flagOr("norm_topk_prob", normalized) ? lm::RouteNorm::Sum : lm::RouteNorm::None;
  const int64_t step = config.countOr("decoder_sparse_step", 1);
  const std::vector<int64_t> dense = config.integers("mlp_only_layers");
  readExpertLayers(m,
                   [&](int64_t i) { return (i + 1) % step == 0 && !llvm::is_contained(dense, i); });
}

/// Returns whether stacks have columns first. Qwen3-VL is published that way, but transformers saves rows first. The
/// shapes of tensors show the order, unless experts are as wide as the model, which does not occur.
static bool isAcross(const import::Checkpoint &checkpoint, const Decoder &m) {
  const std::vector<int64_t> across = {m.experts->route.count, m.experts->width, m.hidden};
  return m.experts->width != m.hidden &&
         llvm::any_of(checkpoint.tensors, [&](const import::Tensor &tensor) {
           return llvm::StringRef(tensor.name).ends_with(".mlp.experts.down_proj") &&
                  tensor.shape == across;
         });
}

/// Reads the window in the configuration, which no published model uses.
static void readQwenWindows(Config &config, Decoder &m,
                            llvm::function_ref<bool(int64_t)> otherwise) {
  if (config.isGguf())
    return;
  const auto window = static_cast<int64_t>(config.numberOr("sliding_window", 4096)); // 0: none
  if (config.flagOr("use_sliding_window", false))
    readWindows(config, m, window, otherwise);
  else
    config.passOver({"layer_types"});
}

/// Defaults of HF's Qwen2MoeConfig.
void models::readQwen2Moe(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 32768;
  m.kvHeads = 16;
  Experts &experts = m.experts.emplace();
  experts.route.normalize = lm::RouteNorm::None;
  experts.sharedFactor = true;
  experts.names.sharedGate.hf = "mlp.shared_expert.gate_proj";
  experts.names.sharedUp.hf = "mlp.shared_expert.up_proj";
  experts.names.sharedDown.hf = "mlp.shared_expert.down_proj";
  readSizes(config, checkpoint, m);
  readQwenExperts(config, m, /*normalized=*/false);
  if (!config.isGguf()) {
    experts.sharedWidth = config.countOr("shared_expert_intermediate_size", 5632);
    readBias(config, "qkv_bias", {&m.attentionBias}, true);
  }
  const auto until = static_cast<int64_t>(config.numberOr("max_window_layers", 28));
  readQwenWindows(config, m, [&](int64_t i) { return (i + 1) % 2 != 0 && i < until; });
}

/// Defaults of HF's Qwen3MoeConfig.
void models::readQwen3Moe(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.context = 32768;
  m.kvHeads = 4;
  m.headNorm = HeadNorm::Head;
  m.experts.emplace();
  readSizes(config, checkpoint, m);
  // The transformers class of Qwen3-VL has no key for the normalisation, and always normalises.
  readQwenExperts(config, m, config.textOr("model_type", "") == "qwen3_vl_moe_text");
  m.experts->across = isAcross(checkpoint, m);
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  readQwenWindows(config, m, [](int64_t) { return true; });
}
