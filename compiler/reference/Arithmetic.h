//===- Arithmetic.h - The f32 arithmetic of each lm op --------------------===//
//
// These functions define the ops against which kernels are compared, except matrix products (Products.h). The
// arithmetic is plain f32 with one rounding per operation; exp, tanh, sin and cos are computed in f64 and rounded once.
// SPEC.md of the lm dialect cites these functions.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/KvState.h"
#include "compiler/reference/Matrix.h"
#include "dialects/lm/LmDialect.h"

namespace ingot::reference {

/// The rows of a step: row t is a token of sequences[t] at positions[t].
struct Batch {
  std::vector<int32_t> sequences;
  std::vector<int64_t> positions;
  std::vector<int32_t> logitsRows; ///< rows for which logits are requested, in order
};

/// Normalises each head of each row by itself. The weight is shared by all heads, or has as many values as a row.
Matrix rmsNorm(const Matrix &x, std::span<const float> weight, float eps, int64_t heads,
               float weightOffset);
/// `bias` may be empty.
Matrix layerNorm(const Matrix &x, std::span<const float> weight, std::span<const float> bias,
                 float eps, int64_t heads, float weightOffset);
/// Returns the factor of a position: factors[position / period], or the last factor if that is out of range.
inline float factorAt(std::span<const float> factors, int64_t position, int64_t period) {
  return factors[std::min(static_cast<size_t>(position / period), factors.size() - 1)];
}
Matrix rope(const Matrix &x, std::span<const float> frequencies, const Batch &batch, int64_t heads,
            lm::RopeStyle style, float attentionFactor);
/// One row of a per-channel convolution: sum_j weight[j][c] over the rows of `history` (taps - 1 of them,
/// oldest first) and then x; afterwards `history` ends with x. `bias` may be empty.
void causalConvRow(std::span<const float> x, std::span<const float> weight,
                   std::span<const float> bias, std::span<float> history, std::span<float> y);
void addBias(Matrix &y, std::span<const float> bias);
Matrix add(const Matrix &a, const Matrix &b);
Matrix multiplyElements(const Matrix &a, const Matrix &b);
Matrix scale(const Matrix &x, float factor);
Matrix activation(const Matrix &x, lm::ActivationKind kind);
/// linear x + positive p^2 + negative (exp(n) - 1 - n), with p = max(x, 0) and n = min(x, 0).
Matrix xielu(const Matrix &x, std::span<const float> linear, std::span<const float> positive,
             std::span<const float> negative);
/// (u + 1) g sigmoid(alpha g), with g = min(gate, limit) and u = up between -limit and limit.
Matrix swigluOai(const Matrix &gate, const Matrix &up, float alpha, float limit);
/// x[t] * factors[t][0].
Matrix scaleRows(const Matrix &x, const Matrix &factors);
Matrix softcap(const Matrix &x, float cap);
/// y[t][k] = x[t][columns[k]].
Matrix permute(const Matrix &x, std::span<const float> columns);
Matrix selectRows(const Matrix &x, std::span<const int32_t> rows);

struct AttentionParameters {
  int64_t heads, kvHeads;
  float scale;
  int64_t window;                    ///< 0: all positions
  float softcap;                     ///< 0: none
  std::span<const float> sinks = {}; ///< one per head; empty: none
  /// Rounds the attention weights to bytes, as kernels with an int8 cache do (codegen/cpu/AttentionInt8.h).
  bool weightsInBytes = false;
};

/// Returns the attention output of each row of q. `lengths` maps a sequence to the number of its positions that the KV
/// value contains.
Matrix attention(const Matrix &q, const KvState &kv, int64_t slot,
                 const std::map<int32_t, int64_t> &lengths, const Batch &batch,
                 const AttentionParameters &parameters);

} // namespace ingot::reference
