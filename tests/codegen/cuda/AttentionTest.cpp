//===- AttentionTest.cpp - Paged attention on the emulator against scalar C++ ===//
#include "CudaRunner.h"

#include <cmath>
#include <limits>

using namespace ingot;
using namespace ingot::cuda;
using namespace ingot::cuda::test;

namespace {

/// Sequences of the given lengths, a KV cache in shuffled pages, and the last `chunk` tokens of
/// each as the step.
struct Scene {
  AttentionProblem p;
  std::vector<int64_t> lengths;
  int64_t stride, pageBytes;
  std::vector<uint8_t> pool;
  std::vector<int32_t> blockTable;

  Scene(const AttentionProblem &p, std::vector<int64_t> lengths)
      : p(p), lengths(std::move(lengths)) {
    int64_t longest = *std::max_element(this->lengths.begin(), this->lengths.end());
    stride = (longest + 31) / 32 + 1;
    pageBytes = roundUp(4 * p.kvHeads * p.headDim * 32, 64);
    int64_t pages = stride * int64_t(this->lengths.size()) + 1;
    Numbers random(9);
    pool.resize(pages * pageBytes, 0xff); // NaN wherever nothing was written
    for (size_t s = 0; s < this->lengths.size(); ++s)
      for (int64_t i = 0; i < stride; ++i)
        blockTable.push_back(int32_t(pages - 1 - (s * stride + i)));
    for (size_t s = 0; s < this->lengths.size(); ++s)
      for (int64_t position = 0; position < this->lengths[s]; ++position)
        for (int64_t h = 0; h < p.kvHeads; ++h)
          for (int64_t d = 0; d < p.headDim; ++d) {
            *element(s, position, h, d, false) = toBf16(2 * random.uniform());
            *element(s, position, h, d, true) = toBf16(random.uniform());
          }
  }
  uint16_t *element(size_t sequence, int64_t position, int64_t h, int64_t d, bool value) {
    int64_t page = blockTable[sequence * stride + position / 32];
    uint16_t *base = reinterpret_cast<uint16_t *>(pool.data() + page * pageBytes) +
                     (value ? p.kvHeads * 32 * p.headDim : 0);
    return base + (h * 32 + position % 32) * p.headDim + d;
  }

  /// One query head of one token, in f64; q is rounded to bf16 as the kernel does.
  std::vector<double> reference(size_t sequence, int64_t position, int64_t head, const float *q) {
    int64_t h = head / (p.heads / p.kvHeads),
            first = p.window ? std::max<int64_t>(0, position - p.window + 1) : 0;
    std::vector<double> scores, out(p.headDim);
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = first; i <= position; ++i) {
      double score = 0;
      for (int64_t d = 0; d < p.headDim; ++d)
        score += double(fromBf16(toBf16(q[d]))) * fromBf16(*element(sequence, i, h, d, false));
      score *= 0.125;
      if (p.softcap != 0)
        score = p.softcap * std::tanh(score / p.softcap);
      scores.push_back(score);
      most = std::max(most, score);
    }
    for (double &s : scores)
      sum += s = std::exp(s - most);
    for (int64_t i = first; i <= position; ++i)
      for (int64_t d = 0; d < p.headDim; ++d)
        out[d] += scores[i - first] / sum * fromBf16(*element(sequence, i, h, d, true));
    return out;
  }
};

struct Step {
  std::vector<AttentionTile> tiles;
  std::vector<std::pair<size_t, int64_t>> tokens; ///< sequence and position
};
/// The last `chunk` positions of every sequence (all, if shorter), in tiles of up to `most`.
Step stepOf(const Scene &scene, int64_t chunk, int64_t most) {
  Step step;
  for (size_t s = 0; s < scene.lengths.size(); ++s)
    for (int64_t from = std::max<int64_t>(0, scene.lengths[s] - chunk); from < scene.lengths[s];
         from += most) {
      int64_t count = std::min(most, scene.lengths[s] - from);
      step.tiles.push_back(
          {int32_t(step.tokens.size()), int32_t(count), int32_t(s), int32_t(from)});
      for (int64_t i = 0; i < count; ++i)
        step.tokens.push_back({s, from + i});
    }
  return step;
}

std::vector<float> queryOf(const AttentionProblem &p, size_t sequence, int64_t position) {
  return f32Rows(1, p.heads * p.headDim, 1000 * uint32_t(sequence) + uint32_t(position));
}

/// The outputs of a step, by (sequence, position).
std::vector<std::vector<float>> run(const HostKernels &kernels, const std::string &symbol,
                                    Scene &scene, const Step &step, uint32_t seed) {
  const AttentionProblem &p = scene.p;
  bool bf16 = std::string(p.output) == "bf16";
  int64_t width = p.heads * p.headDim, stride = roundUp(width, bf16 ? 64 : 32);
  Emulated gpu(kernels, seed);
  std::vector<float> q;
  for (auto [sequence, position] : step.tokens) {
    std::vector<float> row = queryOf(p, sequence, position);
    q.insert(q.end(), row.begin(), row.end());
  }
  BatchView batch{};
  batch.tokens = step.tokens.size(), batch.tiles = step.tiles.size();
  batch.attentionTiles = gpu.put(step.tiles), batch.blockTable = gpu.put(scene.blockTable),
  batch.blockTableStride = scene.stride;
  void *y = bf16 ? static_cast<void *>(gpu.make<uint16_t>(step.tokens.size() * stride))
                 : gpu.make<float>(step.tokens.size() * stride);
  gpu.launch(symbol, {gpu.put(q), gpu.put(scene.pool), y}, batch);
  std::vector<std::vector<float>> rows;
  for (size_t t = 0; t < step.tokens.size(); ++t) {
    std::vector<float> row;
    if (bf16)
      for (uint16_t bits : gpu.get(static_cast<uint16_t *>(y) + t * stride, stride))
        row.push_back(fromBf16(bits));
    else if (p.headDim * p.heads % 32 == 0)
      row = gpu.get(static_cast<float *>(y) + t * stride, stride);
    else
      row = gpu.get(static_cast<float *>(y) + t * stride, stride);
    for (int64_t i = width; i < stride; ++i)
      EXPECT_EQ(row[i], 0.0f) << symbol << " pads with zeros";
    rows.push_back(row);
  }
  return rows;
}

TEST(CudaAttention, DecodeAndPrefill) {
  const AttentionProblem problems[] = {
      {6, 2, 64, 0, 0, "bf16"}, {4, 1, 128, 0, 0, "f32"}, {2, 1, 256, 100, 30, "bf16"},
      {2, 2, 80, 0, 0, "bf16"}, {3, 1, 20, 40, 0, "f32"}, {2, 1, 7, 0, 0, "bf16"},
      {20, 1, 16, 0, 0, "f32"},
  };
  std::string text;
  for (size_t i = 0; i < std::size(problems); ++i)
    text += attention("a" + std::to_string(i), problems[i]);
  std::vector<CudaProgram> programs = HostKernels::emit(text);
  for (bool checked : {true, false}) {
    HostKernels kernels(programs, checked);
    ASSERT_TRUE(bool(kernels));
    for (size_t i = 0; i < std::size(problems); ++i) {
      const AttentionProblem &p = problems[i];
      std::string name = "a" + std::to_string(i);
      // Lengths about pages and spans; the longest gives every warp of a decode block a span and
      // one a second.
      Scene scene(p, checked ? std::vector<int64_t>{1, 33, 129}
                             : std::vector<int64_t>{1, 31, 32, 33, 64, 65, 130, 600});
      Step alone = stepOf(scene, 1, 1);
      std::vector<std::vector<float>> decoded = run(kernels, name + "_decode", scene, alone, 1);
      for (size_t t = 0; t < alone.tokens.size(); ++t) {
        auto [sequence, position] = alone.tokens[t];
        std::vector<float> q = queryOf(p, sequence, position);
        for (int64_t h = 0; h < p.heads; ++h) {
          std::vector<double> want =
              scene.reference(sequence, position, h, q.data() + h * p.headDim);
          for (int64_t d = 0; d < p.headDim; ++d)
            ASSERT_NEAR(decoded[t][h * p.headDim + d], want[d], 0.008)
                << name << " length " << position + 1 << " head " << h << " dimension " << d;
        }
      }
      // The same tokens at the end of chunks, by the prefill kernel: the same bits. (A tile of 16,
      // one of 5, one of 1.)
      for (int64_t chunk : {1, 21}) {
        Step together = stepOf(scene, chunk, 16);
        std::vector<std::vector<float>> prefilled =
            run(kernels, name + "_prefill", scene, together, 2);
        for (size_t t = 0; t < together.tokens.size(); ++t)
          for (size_t u = 0; u < alone.tokens.size(); ++u)
            if (together.tokens[t] == alone.tokens[u])
              ASSERT_EQ(prefilled[t], decoded[u])
                  << name << " chunk " << chunk << " sequence " << together.tokens[t].first;
        // Rows within the chunk against the reference.
        if (chunk == 21 && !checked)
          for (size_t t = 0; t < together.tokens.size(); t += 5) {
            auto [sequence, position] = together.tokens[t];
            std::vector<float> q = queryOf(p, sequence, position);
            std::vector<double> want = scene.reference(sequence, position, 0, q.data());
            for (int64_t d = 0; d < p.headDim; ++d)
              ASSERT_NEAR(prefilled[t][d], want[d], 0.008) << name << " position " << position;
          }
      }
    }
  }
}

} // namespace
