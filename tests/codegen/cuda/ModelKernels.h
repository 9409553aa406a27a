//===- ModelKernels.h - Projections and attention of two models, as kernel IR ----===//
//
// These are the kernels that `ingot compile` makes of Llama shapes on sm_90a. Norms and appending are fused into
// projections of few tokens. The residual is a separate operand, although it is the output's buffer. The head has keys,
// and products are in fp8 where weights are fp8.
//===----------------------------------------------------------------------===//
#pragma once

#include "ExpertKernels.h"

#include <map>

namespace ingot::codegen::cuda::test {

struct ModelShape {
  const char *name;
  int64_t hidden, inner, heads, kvHeads, headDim, vocabulary;
};
inline constexpr ModelShape kModelShapes[] = {{"8b", 4096, 14336, 32, 8, 128, 128256},
                                              {"1b", 2048, 8192, 32, 8, 64, 128256}};

/// Returns the number of tokens up to which a projection computes the norm before it, as codegen/cuda/MatmulShape.cpp
/// decides. `weights` counts the weights per output: 1, or 2 for a gated pair.
inline int64_t fewTokens(WeightFormat format, int64_t k, int64_t weights) {
  int64_t few = 8;
  while (few > 1 && (2 * few * k * 4 > weights * fragmentLayout(format, 16, k).tileBytes() ||
                     few * gpuRowBytes(k) > 16 * 1024))
    few /= 2;
  return few;
}

/// Makes the products of more than 64 tokens use fp8, as in all kernels of fp8 weights on sm_90a.
inline std::string withFp8(const std::string &matmul, WeightFormat format, int64_t k) {
  if (numericFormat(format).kind != NumericFormat::Kind::ScaledFloat)
    return matmul;
  std::string text = extended(matmul, fp8Argument(k), "", "");
  return text.insert(text.find(" attributes {", text.find("kernel.matmul")), fp8Clause(k));
}

/// Returns kernel IR by name, for one weight format: qkv, o, gate_up, down, head. Kernels for few tokens are
/// named after their fused ops.
inline std::map<std::string, std::string> projectionsOf(const ModelShape &m, WeightFormat format) {
  constexpr int64_t kMany = 1 << 20;
  const int64_t width = m.heads * m.headDim, kvWidth = m.kvHeads * m.headDim,
                few = fewTokens(format, m.hidden, 1), fewOfPair = fewTokens(format, m.hidden, 2);
  const RopeProblem rope{m.heads, m.kvHeads, m.headDim, m.headDim, false, false};
  const std::string qkv = projections("qkv", m.hidden,
                                      {{format, width}, {format, kvWidth}, {format, kvWidth}}),
                    pair = gateUp("gate_up", format, m.inner, m.hidden, /*silu=*/true),
                    head = plainMatmul("head", format, m.vocabulary, m.hidden, "f32", /*extent=*/1);
  std::map<std::string, std::string> all{
      {"qkv", counted(withFp8(qkv, format, m.hidden), "qkv", 9, kMany)},
      {"qkv_few", counted(withAppend(withNorm(qkv, m.hidden), rope), "qkv", 1, few)},
      {"o", withFp8(residualMatmul("o", format, m.hidden, width), format, width)},
      {"gate_up", counted(withFp8(pair, format, m.hidden), "gate_up", fewOfPair + 1, kMany)},
      {"gate_up_few", counted(withNorm(pair, m.hidden), "gate_up", 1, fewOfPair)},
      {"down", withFp8(residualMatmul("down", format, m.hidden, m.inner), format, m.inner)},
      {"head", counted(withFp8(head, format, m.hidden), "head", 33, kMany)},
      {"head_keys", counted(withKeys(head, m.vocabulary), "head", few + 1, 32)},
      {"head_few",
       counted(withKeys(withNorm(head, m.hidden, /*gather=*/true), m.vocabulary), "head", 1, few)}};
  if (few < 8)
    all["qkv_append"] = counted(withAppend(qkv, rope), "qkv", few + 1, 8);
  return all;
}

/// A mixture of experts with 30B parameters, 3B active per token: the kernels of its experts and those around
/// them.
struct ExpertShape {
  const char *name;
  int64_t hidden, inner, experts, used;
};
inline constexpr ExpertShape kExpertShape = {"moe", 2048, 768, 128, 8};
inline std::map<std::string, std::string> expertsOf(const ExpertShape &m, WeightFormat format) {
  const bool fp8 = numericFormat(format).isScaledFloat();
  return {
      {"gate_up", Stack{format, m.experts, m.used, m.inner, m.hidden, true}.kernel("gate_up", fp8)},
      {"down", Stack{format, m.experts, m.used, m.hidden, m.inner, false}.kernel("down", fp8)}};
}
inline std::map<std::string, std::string> aroundExperts(const ExpertShape &m) {
  return {
      {"router", projections("router", m.hidden, {{WeightFormat::F32, m.experts}}, false, "f32")},
      {"route", Router{m.experts, m.used, "softmax", "sum"}.kernel("route")},
      {"group_routes", groupRoutes("group_routes", m.experts, m.used)},
      {"combine", combine("combine", m.hidden, m.experts, m.used)}};
}

/// Returns attention over a bf16 or fp8 cache.
inline std::string attentionOf(const ModelShape &m, bool fp8) {
  return attention("attention", {m.heads, m.kvHeads, m.headDim, 0, 0, "bf16", fp8});
}

} // namespace ingot::codegen::cuda::test
