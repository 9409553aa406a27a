//===- Apertus.cpp - Apertus 8B and 70B -----------------------------------===//
//
// Llama's layer with norms of each head of q and k, and an MLP without a gate. Its activation (xIELU) has
// two learned slopes per layer: softplus(alpha_p) above 0 and beta + softplus(alpha_n) below. GGUF files hold the same
// slopes as lists. (arXiv:2509.14233; HF modeling_apertus.py.)
//===----------------------------------------------------------------------===//
#include "models/Decoder.h"
#include "models/Families.h"

#include "compiler/import/checkpoint/Dequantize.h"
#include "compiler/import/error/ImportErrors.h"

#include <cmath>

using namespace ingot;
using namespace ingot::models;

static double softplus(double x) { return std::log1p(std::exp(x)); }

/// Returns the value in a tensor of one element, whatever its shape; `otherwise` if there is no such tensor.
static double numberOf(Config &config, const import::Checkpoint &checkpoint,
                       const std::string &name, double otherwise) {
  const import::Tensor *tensor = checkpoint.find(name);
  if (!tensor)
    return otherwise;
  float number = 0;
  if (tensor->elements() != 1 || !numericFormat(tensor->format).isFloat())
    config.refuseValue(name, "another value", "one number");
  else if (auto read = import::dequantizeRow(tensor->format, tensor->data, {&number, 1}); !read)
    config.refuse(std::move(read.error()));
  return number;
}

static std::vector<Xielu> readHfSlopes(Config &config, const import::Checkpoint &checkpoint,
                                       Decoder &m) {
  std::vector<Xielu> slopes;
  for (int64_t i = 0; i < m.layers; ++i) {
    auto stored = [&](const char *name, double otherwise) {
      return numberOf(config, checkpoint, import::line("model.layers.", i, ".mlp.act_fn.", name),
                      otherwise);
    };
    const double beta = stored("beta", 0.5);
    slopes.push_back({beta, softplus(stored("alpha_p", 0)), beta + softplus(stored("alpha_n", 0))});
  }
  for (const char *name : {"alpha_p", "alpha_n", "beta", "eps"})
    m.unread.push_back(std::string("mlp.act_fn.") + name); // read above; eps affects only rounding
  if (std::string kind = config.textOr("hidden_act", "xielu"); kind != "xielu")
    config.refuseValue("hidden_act", import::inQuotes(kind), "xielu");
  return slopes;
}

/// The lists are not prefixed with the family's name.
static std::vector<Xielu> readGgufSlopes(const import::Checkpoint &checkpoint) {
  Config config(checkpoint, "xielu.");
  const std::vector<double> positive = config.numbers("alpha_p"),
                            negative = config.numbers("alpha_n"), beta = config.numbers("beta");
  config.numbers("eps");
  std::vector<Xielu> slopes;
  for (size_t i = 0; i < positive.size() && i < negative.size() && i < beta.size(); ++i)
    slopes.push_back({beta[i], softplus(positive[i]), beta[i] + softplus(negative[i])});
  return slopes;
}

/// Defaults of HF's ApertusConfig.
void models::readApertus(Config &config, const import::Checkpoint &checkpoint, Decoder &m) {
  m.headNorm = HeadNorm::Head;
  m.gated = false;
  m.activationOtherwise = "xielu";
  m.context = 65536;
  m.eps = 1e-5;
  m.rope.base = 12000000;
  m.names.attnNorm.hf = "attention_layernorm";
  m.names.ffnNorm.hf = "feedforward_layernorm";
  readSizes(config, checkpoint, m);
  readBias(config, "attention_bias", {&m.attentionBias, &m.outputBias});
  readBias(config, "mlp_bias", {&m.mlpBias});
  m.xielu = config.isGguf() ? readGgufSlopes(checkpoint) : readHfSlopes(config, checkpoint, m);
}
