//===- Arithmetic.cpp - The f32 arithmetic of each lm op ------------------===//
#include "compiler/reference/Arithmetic.h"

#include "compiler/reference/Products.h"
#include "runtime/formats/KvInt8.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

using namespace ingot;
using namespace ingot::reference;

static float exact(double value) { return static_cast<float>(value); }
static float expOf(float x) { return exact(std::exp(static_cast<double>(x))); }
static float tanhOf(float x) { return exact(std::tanh(static_cast<double>(x))); }

template <typename F> static Matrix mapElements(const Matrix &x, F f) {
  Matrix y(x.rows, x.columns);
  llvm::parallelFor(0, static_cast<size_t>(x.rows), [&](size_t t) {
    auto from = x.row(static_cast<int64_t>(t));
    auto to = y.row(static_cast<int64_t>(t));
    for (size_t i = 0; i < from.size(); ++i)
      to[i] = f(from[i]);
  });
  return y;
}

/// Returns the weight of a head. It is shared by all heads, or it is the head's own part of `weight`.
static std::span<const float> weightOfHead(std::span<const float> weight, int64_t head,
                                           int64_t width) {
  return std::ssize(weight) == width ? weight : weight.subspan(size_t(head * width), size_t(width));
}

Matrix reference::rmsNorm(const Matrix &x, std::span<const float> weight, float eps, int64_t heads,
                          float weightOffset) {
  Matrix y(x.rows, x.columns);
  int64_t width = x.columns / heads;
  for (int64_t cut = 0; cut < x.rows * heads; ++cut) {
    const float *from = x.values.data() + cut * width;
    float *to = y.values.data() + cut * width;
    float meanSquare = dot(from, from, width) / static_cast<float>(width);
    float factor = 1.0f / std::sqrt(meanSquare + eps);
    std::span<const float> own = weightOfHead(weight, cut % heads, width);
    for (int64_t i = 0; i < width; ++i)
      to[i] = (from[i] * factor) * (own[size_t(i)] + weightOffset);
  }
  return y;
}

Matrix reference::layerNorm(const Matrix &x, std::span<const float> weight,
                            std::span<const float> bias, float eps, int64_t heads,
                            float weightOffset) {
  Matrix y(x.rows, x.columns);
  const int64_t width = x.columns / heads;
  const std::vector<float> ones(static_cast<size_t>(width), 1.0f);
  const auto count = static_cast<float>(width);
  for (int64_t cut = 0; cut < x.rows * heads; ++cut) {
    std::span<const float> from(x.values.data() + cut * width, static_cast<size_t>(width));
    std::span<float> to(y.values.data() + cut * width, static_cast<size_t>(width));
    float mean = dot(from.data(), ones.data(), width) / count;
    std::ranges::transform(from, to.begin(), [=](float value) { return value - mean; });
    float variance = dot(to.data(), to.data(), width) / count;
    float factor = 1.0f / std::sqrt(variance + eps);
    std::span<const float> own = weightOfHead(weight, cut % heads, width);
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = (to[i] * factor) * (own[i] + weightOffset);
    for (size_t i = 0; i < bias.size(); ++i)
      to[i] += bias[i];
  }
  return y;
}

void reference::causalConvRow(std::span<const float> x, std::span<const float> weight,
                              std::span<const float> bias, std::span<float> history,
                              std::span<float> y) {
  const size_t channels = x.size(), before = history.size();
  for (size_t c = 0; c < channels; ++c) {
    float sum = 0;
    for (size_t at = c; at < before; at += channels)
      sum += weight[at] * history[at];
    y[c] = sum + weight[before + c] * x[c];
  }
  for (size_t c = 0; c < bias.size(); ++c)
    y[c] += bias[c];
  std::ranges::copy(history.subspan(channels), history.begin());
  std::ranges::copy(x, history.end() - static_cast<std::ptrdiff_t>(channels));
}

Matrix reference::rope(const Matrix &x, std::span<const float> frequencies, const Batch &batch,
                       int64_t heads, lm::RopeStyle style, float attentionFactor) {
  Matrix y = x;
  int64_t width = x.columns / heads, pairs = static_cast<int64_t>(frequencies.size());
  bool half = style == lm::RopeStyle::Half;
  for (int64_t t = 0; t < x.rows; ++t)
    for (int64_t i = 0; i < pairs; ++i) {
      float angle = static_cast<float>(batch.positions[t]) * frequencies[i];
      float c = exact(std::cos(static_cast<double>(angle))) * attentionFactor;
      float s = exact(std::sin(static_cast<double>(angle))) * attentionFactor;
      for (int64_t h = 0; h < heads; ++h) {
        float *head = y.row(t).data() + h * width;
        float &a = head[half ? i : 2 * i], &b = head[half ? i + pairs : 2 * i + 1];
        float turnedA = a * c - b * s, turnedB = b * c + a * s;
        a = turnedA;
        b = turnedB;
      }
    }
  return y;
}

void reference::addBias(Matrix &y, std::span<const float> bias) {
  for (int64_t t = 0; t < y.rows; ++t)
    for (int64_t i = 0; i < y.columns; ++i)
      y.row(t)[i] += bias[i];
}

Matrix reference::add(const Matrix &a, const Matrix &b) {
  Matrix y(a.rows, a.columns);
  std::ranges::transform(a.values, b.values, y.values.begin(), std::plus<float>());
  return y;
}

Matrix reference::multiplyElements(const Matrix &a, const Matrix &b) {
  Matrix y(a.rows, a.columns);
  std::ranges::transform(a.values, b.values, y.values.begin(), std::multiplies<float>());
  return y;
}

Matrix reference::scale(const Matrix &x, float factor) {
  return mapElements(x, [=](float v) { return v * factor; });
}

Matrix reference::activation(const Matrix &x, lm::ActivationKind kind) {
  switch (kind) {
  case lm::ActivationKind::Silu:
    return mapElements(x, [](float v) { return v / (1.0f + expOf(-v)); });
  case lm::ActivationKind::Sigmoid:
    return mapElements(x, [](float v) { return 1.0f / (1.0f + expOf(-v)); });
  case lm::ActivationKind::GeluTanh:
    return mapElements(x, [](float v) {
      const auto root = static_cast<float>(std::sqrt(2 / std::numbers::pi));
      return 0.5f * v * (1.0f + tanhOf(root * (v + 0.044715f * (v * v * v))));
    });
  case lm::ActivationKind::Gelu:
    return mapElements(x, [](float v) {
      return 0.5f * v * (1.0f + exact(std::erf(static_cast<double>(v) / std::numbers::sqrt2)));
    });
  case lm::ActivationKind::QuickGelu:
    return mapElements(x, [](float v) { return v / (1.0f + expOf(-1.702f * v)); });
  case lm::ActivationKind::Relu:
    return mapElements(x, [](float v) { return std::max(v, 0.0f); });
  case lm::ActivationKind::Relu2:
    return mapElements(x, [](float v) { return std::max(v, 0.0f) * std::max(v, 0.0f); });
  case lm::ActivationKind::Mish:
    return mapElements(x, [](float v) {
      return v * exact(std::tanh(std::log1p(std::exp(static_cast<double>(v)))));
    });
  }
  assert(false && "unknown activation");
  return x;
}

Matrix reference::xielu(const Matrix &x, std::span<const float> linear,
                        std::span<const float> positive, std::span<const float> negative) {
  Matrix y(x.rows, x.columns);
  for (int64_t t = 0; t < x.rows; ++t)
    for (size_t i = 0; i < static_cast<size_t>(x.columns); ++i) {
      const float value = x.row(t)[i], p = std::max(value, 0.0f), n = std::min(value, 0.0f);
      y.row(t)[i] =
          linear[i] * value + (positive[i] * (p * p) + negative[i] * (std::exp(n) - 1 - n));
    }
  return y;
}

Matrix reference::swigluOai(const Matrix &gate, const Matrix &up, float alpha, float limit) {
  Matrix y(gate.rows, gate.columns);
  std::ranges::transform(gate.values, up.values, y.values.begin(), [=](float g, float u) {
    g = std::min(g, limit);
    u = std::max(std::min(u, limit), -limit);
    return (u + 1.0f) * (g * (1.0f / (1.0f + expOf(-(alpha * g)))));
  });
  return y;
}

Matrix reference::scaleRows(const Matrix &x, const Matrix &factors) {
  Matrix y = x;
  for (int64_t t = 0; t < y.rows; ++t)
    for (float &value : y.row(t))
      value *= factors.row(t)[0];
  return y;
}

Matrix reference::softcap(const Matrix &x, float cap) {
  return mapElements(x, [=](float v) { return cap * tanhOf(v / cap); });
}

Matrix reference::permute(const Matrix &x, std::span<const float> columns) {
  Matrix y(x.rows, x.columns);
  for (int64_t t = 0; t < y.rows; ++t)
    for (size_t k = 0; k < columns.size(); ++k)
      y.row(t)[k] = x.row(t)[static_cast<size_t>(columns[k])];
  return y;
}

Matrix reference::selectRows(const Matrix &x, std::span<const int32_t> rows) {
  Matrix y(static_cast<int64_t>(rows.size()), x.columns);
  for (size_t i = 0; i < rows.size(); ++i)
    std::ranges::copy(x.row(rows[i]), y.row(static_cast<int64_t>(i)).begin());
  return y;
}

/// Rounds attention weights as kernels do that sum over V in integers: within each block of 128 positions, a weight
/// times the scale of its V is rounded to a multiple of 1/255 of the block's largest weight times scale. `weights` and
/// `v` begin at position `begin`, and there is one weight for each position.
static void roundWeights(std::span<float> weights, int64_t begin, const float *v, int64_t stride,
                         int64_t width) {
  const auto count = static_cast<int64_t>(weights.size());
  std::vector<float> scales(weights.size());
  for (int64_t j = 0; j < count; ++j) {
    float largest = 0;
    for (int64_t i = 0; i < width; ++i)
      largest = std::max(largest, std::abs(v[j * stride + i]));
    scales[static_cast<size_t>(j)] = std::max(largest / 127, kKvInt8LeastScale);
  }
  constexpr int64_t kBlock = 128;
  for (int64_t from = 0; from < count;) {
    const int64_t to = std::min(count, (begin + from) / kBlock * kBlock + kBlock - begin);
    float largest = 0;
    for (int64_t j = from; j < to; ++j)
      largest = std::max(largest, weights[static_cast<size_t>(j)] * scales[static_cast<size_t>(j)]);
    const float unit = largest / 255;
    for (int64_t j = from; j < to && unit > 0; ++j) {
      float &weight = weights[static_cast<size_t>(j)];
      const float scale = scales[static_cast<size_t>(j)];
      weight = std::nearbyint(weight * scale / unit) * unit / scale;
    }
    from = to;
  }
}

/// Attends one head of one token over positions begin … end-1.
static void attendHead(const float *q, const KvState::Rows &rows, int64_t begin, int64_t end,
                       int64_t kvHead, int64_t width, const AttentionParameters &p,
                       const float *sink, std::vector<float> &scores, float *out) {
  int64_t stride = p.kvHeads * width;
  scores.resize(static_cast<size_t>(end - begin));
  float highest = sink ? *sink : -INFINITY;
  for (int64_t j = begin; j < end; ++j) {
    float score = p.scale * dot(q, rows.k.data() + j * stride + kvHead * width, width);
    if (p.softcap > 0)
      score = p.softcap * tanhOf(score / p.softcap);
    scores[static_cast<size_t>(j - begin)] = score;
    highest = std::max(highest, score);
  }
  float total = sink ? expOf(*sink - highest) : 0;
  for (float &score : scores) {
    score = expOf(score - highest);
    total += score;
  }
  if (p.weightsInBytes) // the divisor is the sum before rounding
    roundWeights(scores, begin, rows.v.data() + begin * stride + kvHead * width, stride, width);
  std::fill_n(out, width, 0.0f);
  for (int64_t j = begin; j < end; ++j) {
    float weight = scores[static_cast<size_t>(j - begin)];
    const float *v = rows.v.data() + j * stride + kvHead * width;
    for (int64_t i = 0; i < width; ++i)
      out[i] += weight * v[i];
  }
  for (int64_t i = 0; i < width; ++i)
    out[i] /= total;
}

Matrix reference::attention(const Matrix &q, const KvState &kv, int64_t slot,
                            const std::map<int32_t, int64_t> &lengths, const Batch &batch,
                            const AttentionParameters &p) {
  Matrix y(q.rows, q.columns);
  int64_t width = q.columns / p.heads;
  llvm::parallelFor(0, static_cast<size_t>(q.rows), [&](size_t row) {
    auto t = static_cast<int64_t>(row);
    int32_t sequence = batch.sequences[row];
    const KvState::Rows *rows = kv.find(slot, sequence);
    auto length = lengths.find(sequence);
    int64_t held = length == lengths.end() ? 0 : length->second;
    int64_t end = std::min(batch.positions[row] + 1, held);
    int64_t begin = p.window > 0 ? std::max<int64_t>(0, batch.positions[row] + 1 - p.window) : 0;
    if (!rows || begin >= end)
      return; // without visible positions, the output stays zero
    std::vector<float> scores;
    for (int64_t h = 0; h < p.heads; ++h)
      attendHead(q.row(t).data() + h * width, *rows, begin, end, h * p.kvHeads / p.heads, width, p,
                 p.sinks.empty() ? nullptr : &p.sinks[static_cast<size_t>(h)], scores,
                 y.row(t).data() + h * width);
  });
  return y;
}
