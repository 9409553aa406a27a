//===- DrawTest.cpp - The device draws the same ids as the host ------------------===//
//
// The kernels on the emulator and runtime/sample/Sampler.h draw from rows of logits of many kinds
// with many settings; every id must be the same. Rows share one step in any order, so that settings
// are mixed, and what one step leaves in memory must not affect the next.
//===----------------------------------------------------------------------===//
#include "CudaRunner.h"
#include "runtime/sample/Sampler.h"

#include <cmath>

using namespace ingot;
using namespace ingot::codegen::cuda;
using namespace ingot::codegen::cuda::test;
using runtime::SamplingParams;

namespace {

constexpr float kInf = INFINITY;

/// Temperature, top-k, top-p, min-p. A top-k of -1 is the vocabulary less one.
struct Setting {
  float temperature;
  int32_t topK = 0;
  float topP = 1, minP = 0;
};
const Setting kSettings[] = {
    {0},
    {1},
    {0.3f},
    {4},
    {1e6f},
    {1e-30f},
    {1, 0, 1, 0.1f},
    {2, 0, 1, 1},
    {1.5f, 0, 1, 1e-45f},
    {1, 1},
    {1, 5},
    {0.02f, 40},
    {1e6f, 700},
    {1, -1},
    {1, 1 << 30},
    {1, 0, 0.5f},
    {1, 0, 0.999f},
    {1, 0, 0},
    {1, 0, 1e-6f},
    {1e6f, 0, 0.7f},
    {0.7f, 50, 0.9f},
    {1.3f, 600, 0.95f, 0.02f},
    {1, 0, 0.8f, 0.3f},
    {8, 1 << 30, 0.99f, 1e-4f},
};

SamplingParams paramsOf(const Setting &setting, int64_t vocabulary, Numbers &random) {
  SamplingParams params;
  params.temperature = setting.temperature;
  params.topK = setting.topK < 0 ? std::max(int32_t(vocabulary) - 1, 1) : setting.topK;
  params.topP = setting.topP;
  params.minP = setting.minP;
  params.seed = uint64_t(random.bits()) << 40 | random.bits();
  params.choice = random.bits() % 3;
  return params;
}

constexpr int kKinds = 12;

std::vector<float> logitsOf(int kind, int64_t vocabulary, Numbers &random) {
  std::vector<float> logits(vocabulary);
  for (float &logit : logits) { // roughly a normal distribution of that width
    float sum = 0;
    for (int i = 0; i < 6; ++i)
      sum += random.uniform();
    logit = sum * (kind == 1 ? 0.001f : kind == 2 ? 30 : 2.5f);
  }
  auto some = [&](int64_t every, float value) {
    for (int64_t i = random.bits() % every; i < vocabulary; i += 1 + random.bits() % every)
      logits[i] = value;
  };
  switch (kind) {
  case 3: // all are equal
    std::fill(logits.begin(), logits.end(), -3.25f);
    break;
  case 4: // few distinct values, with ties at every edge
    for (float &logit : logits)
      logit = std::round(logit / 4) * 0.5f;
    break;
  case 5: // all are -inf except for a few
    for (float &logit : logits)
      logit = random.bits() % vocabulary < 5 ? logit : -kInf;
    logits[vocabulary / 2] = -1;
    break;
  case 6:
    some(4, NAN);
    some(9, -kInf);
    logits[0] = 1;
    break;
  case 7: // an infinite logit and NaN
    logits[vocabulary / 3] = kInf;
    some(5, NAN);
    break;
  case 8:
    std::fill(logits.begin(), logits.end(), NAN);
    if (random.bits() % 2)
      logits[vocabulary - 1] = -kInf;
    break;
  case 9: // the logits are far apart
    for (float &logit : logits)
      logit *= 1e37f;
    break;
  case 10: // zeros of both signs are equal, and are the largest
    for (float &logit : logits)
      logit = std::abs(logit) < 1 ? std::copysign(0.0f, logit) : -std::abs(logit);
    logits[vocabulary / 2] = 0;
    break;
  case 11: // one likely id above a plateau
    std::fill(logits.begin(), logits.end(), 2.0f);
    logits[vocabulary - 1] = 9;
    break;
  }
  return logits;
}

/// Steps of rows; the kernels' memory persists from one step to the next.
class Drawn {
public:
  Drawn(Emulated &gpu, int64_t vocabulary, int64_t most)
      : gpu(gpu), vocabulary(vocabulary), sampler(vocabulary),
        keys(gpu.put(std::vector<uint64_t>(most), "keys", false)),
        sums(gpu.put(std::vector<uint8_t>(most * drawSumsBytes(vocabulary)), "sums", false)) {}

  struct Row {
    std::vector<float> logits;
    SamplingParams params;
    std::string name;
  };
  void check(const std::vector<Row> &rows, Numbers &random) {
    const int64_t stride = roundUp(vocabulary, 32), count = rows.size();
    std::vector<float> logits(count * stride, NAN);
    std::vector<RowSampling> sampling;
    std::vector<int32_t> rowTokens, positions(count + 5);
    for (int32_t &position : positions)
      position = random.bits();
    for (int64_t r = 0; r < count; ++r) {
      std::ranges::copy(rows[r].logits, logits.begin() + r * stride);
      sampling.push_back(runtime::rowSampling(rows[r].params));
      rowTokens.push_back(int32_t(count + 4 - r));
    }
    BatchView batch{};
    batch.rows = count;
    batch.rowTokens = gpu.put(rowTokens), batch.positions = gpu.put(positions);
    batch.sampling = gpu.put(sampling);
    const float *on = gpu.put(logits);
    int32_t *ids = gpu.make<int32_t>(count);
    gpu.launch("argmax", {on, keys}, batch);
    gpu.launch("draw_weigh", {on, keys, sums}, batch);
    gpu.launch("draw_ids", {on, keys, sums, ids}, batch);
    std::vector<int32_t> got = gpu.get(ids, count);
    for (int64_t r = 0; r < count; ++r)
      EXPECT_EQ(got[r], sampler
                            .choose(rows[r].logits.data(), rows[r].params, nullptr,
                                    uint64_t(positions[rowTokens[r]]) + 1)
                            .id)
          << rows[r].name;
  }

private:
  Emulated &gpu;
  int64_t vocabulary;
  runtime::Sampler sampler;
  uint64_t *keys;
  uint8_t *sums;
};

template <typename Body>
void onVocabulary(int64_t vocabulary, std::vector<Build> builds, Body body) {
  std::vector<CudaProgram> programs = emitAll(samplingKernels(vocabulary));
  for (Build build : builds) {
    SCOPED_TRACE(nameOf(build) + ", vocabulary " + std::to_string(vocabulary));
    HostKernels kernels(programs, build.checked);
    ASSERT_TRUE(bool(kernels));
    Emulated gpu(kernels, build.seed);
    body(gpu);
  }
}

/// Every setting with every kind of logits.
TEST(CudaDraw, AsTheHostDraws) {
  for (int64_t vocabulary : {1, 97, 256, 2311})
    onVocabulary(vocabulary, {{false, 3}}, [&](Emulated &gpu) {
      Numbers random(vocabulary);
      std::vector<Drawn::Row> rows;
      for (int kind = 0; kind < kKinds; ++kind)
        for (size_t s = 0; s < std::size(kSettings); ++s)
          rows.push_back({logitsOf(kind, vocabulary, random),
                          paramsOf(kSettings[s], vocabulary, random),
                          "logits " + std::to_string(kind) + ", setting " + std::to_string(s)});
      for (size_t i = rows.size(); i > 1; --i)
        std::swap(rows[i - 1], rows[random.bits() % i]);
      Drawn(gpu, vocabulary, rows.size()).check(rows, random);
    });
}

/// Draws many ids from the same rows. The settings of each step differ from those of the step before.
TEST(CudaDraw, ManySeeds) {
  constexpr int64_t vocabulary = 701;
  onVocabulary(vocabulary, {{false, 4}}, [&](Emulated &gpu) {
    Numbers random(5);
    Drawn drawn(gpu, vocabulary, 64);
    for (int step = 0; step < 6; ++step) {
      std::vector<Drawn::Row> rows;
      for (int row = 0; row < 64; ++row)
        rows.push_back(
            {logitsOf((step + row / 8) % kKinds, vocabulary, random),
             paramsOf(kSettings[(step * 7 + row) % std::size(kSettings)], vocabulary, random),
             "step " + std::to_string(step) + ", row " + std::to_string(row)});
      drawn.check(rows, random);
    }
  });
}

/// The vocabulary gives more blocks of weights than threads, and bins with more ids than shared memory holds.
TEST(CudaDraw, LargeVocabulary) {
  constexpr int64_t vocabulary = 131361;
  onVocabulary(vocabulary, {{false, 5}}, [&](Emulated &gpu) {
    Numbers random(6);
    std::vector<Drawn::Row> rows;
    for (const Setting &setting :
         {Setting{1}, Setting{1, 50, 0.9f}, Setting{2, 0, 0.95f}, Setting{1e6f, 0, 0.6f},
          Setting{0.8f, 0, 1, 0.01f}, Setting{1, 100000}})
      for (int kind : {0, 3})
        rows.push_back({logitsOf(kind, vocabulary, random), paramsOf(setting, vocabulary, random),
                        std::to_string(rows.size())});
    Drawn(gpu, vocabulary, rows.size()).check(rows, random);
  });
}

/// Runs a few rows under all checks of the checked build. They are small enough for the launches that go into a bundle.
TEST(CudaDraw, FewRows) {
  constexpr int64_t vocabulary = 1009;
  onVocabulary(vocabulary, {{true, 1}, {false, 2}}, [&](Emulated &gpu) {
    Numbers random(7);
    std::vector<Drawn::Row> rows;
    for (size_t s = 0; s < std::size(kSettings); s += 2)
      rows.push_back({logitsOf(s % kKinds, vocabulary, random),
                      paramsOf(kSettings[s], vocabulary, random), std::to_string(s)});
    Drawn(gpu, vocabulary, rows.size()).check(rows, random);
  });
}

} // namespace
