//===- AttentionTest.cpp - Paged attention on the emulator against scalar C++ ===//
#include "CudaRunner.h"
#include "E4m3Reference.h"

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
    pageBytes = roundUp(2 * p.kvHeads * 32 * (p.headDim * (p.fp8 ? 1 : 2) + (p.fp8 ? 4 : 0)), 64);
    int64_t pages = stride * int64_t(this->lengths.size()) + 1;
    Numbers random(9);
    pool.resize(pages * pageBytes, 0xff); // NaN wherever nothing was written
    for (size_t s = 0; s < this->lengths.size(); ++s)
      for (int64_t i = 0; i < stride; ++i)
        blockTable.push_back(int32_t(pages - 1 - (s * stride + i)));
    std::vector<float> vector(p.headDim);
    for (size_t s = 0; s < this->lengths.size(); ++s)
      for (int64_t position = 0; position < this->lengths[s]; ++position)
        for (int64_t h = 0; h < p.kvHeads; ++h)
          for (bool value : {false, true}) {
            for (float &x : vector)
              x = (value ? 1 : 2) * random.uniform();
            store(s, position, h, value, vector);
          }
  }

  uint8_t *pageOf(size_t sequence, int64_t position) {
    return pool.data() + blockTable[sequence * stride + position / 32] * pageBytes;
  }
  /// Number of a vector among those of its page.
  int64_t indexOf(int64_t position, int64_t h, bool value) const {
    return ((value ? p.kvHeads : 0) + h) * 32 + position % 32;
  }
  void store(size_t sequence, int64_t position, int64_t h, bool value,
             const std::vector<float> &vector) {
    uint8_t *page = pageOf(sequence, position);
    int64_t index = indexOf(position, h, value);
    if (!p.fp8) {
      for (int64_t d = 0; d < p.headDim; ++d)
        reinterpret_cast<uint16_t *>(page)[index * p.headDim + d] = toBf16(vector[d]);
      return;
    }
    float most = 0;
    for (float x : vector)
      most = std::max(most, std::abs(x));
    float &scale = reinterpret_cast<float *>(page + 2 * p.kvHeads * 32 * p.headDim)[index];
    scale = most / 448;
    for (int64_t d = 0; d < p.headDim; ++d)
      page[index * p.headDim + d] = toE4m3(vector[d] / scale);
  }
  double element(size_t sequence, int64_t position, int64_t h, int64_t d, bool value) {
    uint8_t *page = pageOf(sequence, position);
    int64_t index = indexOf(position, h, value);
    if (!p.fp8)
      return fromBf16(reinterpret_cast<uint16_t *>(page)[index * p.headDim + d]);
    return fromE4m3(page[index * p.headDim + d]) *
           reinterpret_cast<float *>(page + 2 * p.kvHeads * 32 * p.headDim)[index];
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
        score += double(fromBf16(toBf16(q[d]))) * element(sequence, i, h, d, false);
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
        out[d] += scores[i - first] / sum * element(sequence, i, h, d, true);
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

/// a0, a1, …; the lengths of DecodeAndPrefill are about pages, spans and runs.
const std::vector<AttentionProblem> kProblems = {
    {6, 2, 64, 0, 0, "bf16"},     {4, 1, 128, 0, 0, "f32"},        {2, 1, 256, 100, 30, "bf16"},
    {2, 2, 80, 1000, 20, "bf16"}, {3, 1, 20, 40, 0, "f32"},        {2, 1, 7, 0, 0, "bf16"},
    {20, 1, 16, 0, 0, "f32"},     {4, 1, 128, 0, 0, "bf16", true}, {3, 1, 20, 0, 0, "f32", true},
};
std::string nameOf(size_t i) { return "a" + std::to_string(i); }

/// All kernels of these tests, compiled once for each build. `planted` is a6 without the order
/// between a block that writes and the one that merges; `append` writes the KV of a6.
class Kernels {
public:
  static const HostKernels &build(bool checked) {
    static const Kernels all;
    static const HostKernels builds[] = {{all.programs, false}, {all.programs, true}};
    return builds[checked];
  }
  /// Bytes; 0 for a kernel without.
  static int64_t workspace(const std::string &name) {
    static const std::map<std::string, int64_t> bytes = HostKernels::workspaces(text());
    auto found = bytes.find(name);
    return found == bytes.end() ? 0 : found->second;
  }

private:
  std::vector<CudaProgram> programs = HostKernels::emit(text());

  Kernels() {
    for (CudaProgram &program : programs)
      if (program.name == "planted") {
        program.source.insert(program.source.find("#include"),
                              "#include \"device.cuh\"\n#define add_acq_rel atomic_add\n");
        program.source.resize(
            program.source.find("KERNEL void", program.source.find("KERNEL void") + 1));
      }
  }
  static std::string text() {
    std::string text =
        attention("planted", kProblems[6]) + ropeAppend("append", {20, 1, 16, 0, false, false});
    for (size_t i = 0; i < kProblems.size(); ++i)
      text += attention(nameOf(i), kProblems[i]);
    return text;
  }
};

/// The outputs of a step, by (sequence, position).
std::vector<std::vector<float>> run(const HostKernels &kernels, const std::string &symbol,
                                    Scene &scene, const Step &step, uint32_t seed,
                                    uint32_t blocks = 0,
                                    std::vector<emulator::Finding> *findings = nullptr) {
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
  auto output = [&] {
    size_t count = step.tokens.size() * stride;
    return bf16 ? static_cast<void *>(gpu.make<uint16_t>(count)) : gpu.make<float>(count);
  };
  void *y = output();
  std::vector<const void *> operands = {gpu.put(q), gpu.put(scene.pool), y};
  if (int64_t bytes = Kernels::workspace(symbol.substr(0, symbol.find('_')))) {
    std::vector<uint8_t> memory(bytes, 0xff); // NaN but for the counters
    std::fill_n(memory.begin(), 4096, 0);
    operands.push_back(gpu.put(memory, "workspace", false));
    gpu.holds(operands.back(), replay::Element::F32, /*from=*/4096); // m, l and o
  }
  if (findings) {
    *findings = gpu.findingsOf(symbol, operands, batch);
    return {};
  }
  gpu.launch(symbol, operands, batch, true, blocks);
  if (symbol.ends_with("_split")) { // once more: the counters are 0 again
    operands[2] = y = output();
    gpu.launch(symbol, operands, batch, true, blocks);
  }
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
  for (bool checked : {true, false}) {
    const HostKernels &kernels = Kernels::build(checked);
    ASSERT_TRUE(bool(kernels));
    for (size_t i = 0; i < kProblems.size(); ++i) {
      const AttentionProblem &p = kProblems[i];
      std::string name = nameOf(i);
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
      if (Kernels::workspace(name))
        ASSERT_EQ(run(kernels, name + "_split", scene, alone, 3), decoded) << name;
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

/// Contexts that several blocks share, few or many: ragged ones, more runs than blocks, a window
/// that begins inside a run, more rows than a warp takes. Whole tiles, which the guards keep away,
/// are right too.
TEST(CudaAttention, SplitOverBlocks) {
  struct {
    size_t problem;
    std::vector<int64_t> lengths, checked;
  } const scenes[] = {
      {0, {3000, 1, 512, 513, 2049, 256, 257, 900}, {1100, 65}},
      {3, {2100, 1024, 90}, {1300}},
      {6, {1500, 700}, {600}},
      {7, {1100, 300}, {515}},
      {8, {2000, 300}, {}},
  };
  for (bool checked : {true, false}) {
    const HostKernels &kernels = Kernels::build(checked);
    ASSERT_TRUE(bool(kernels));
    for (const auto &[problem, fast, few] : scenes) {
      const AttentionProblem &p = kProblems[problem];
      const std::vector<int64_t> &lengths = checked ? few : fast;
      std::string name = nameOf(problem);
      ASSERT_TRUE(Kernels::workspace(name));
      if (lengths.empty())
        continue;
      Scene scene(p, lengths);
      Step alone = stepOf(scene, 1, 1);
      std::vector<std::vector<float>> decoded = run(kernels, name + "_decode", scene, alone, 1);
      for (size_t t = 0; t < alone.tokens.size(); ++t) {
        auto [sequence, position] = alone.tokens[t];
        std::vector<float> q = queryOf(p, sequence, position);
        std::vector<double> want = scene.reference(sequence, position, 0, q.data());
        for (int64_t d = 0; d < p.headDim; ++d)
          ASSERT_NEAR(decoded[t][d], want[d], 0.008) << name << " length " << position + 1;
      }
      for (auto [seed, blocks] : {std::pair{1u, 0u}, {2u, 0u}, {3u, 2u}, {4u, 3u}, {5u, 1u}})
        ASSERT_EQ(run(kernels, name + "_split", scene, alone, seed, blocks), decoded)
            << name << " seed " << seed << (checked ? " checked, " : ", ") << blocks << " blocks";
      if (checked)
        continue;
      Step together = stepOf(scene, 5, 16);
      ASSERT_EQ(run(kernels, name + "_split", scene, together, 1),
                run(kernels, name + "_prefill", scene, together, 1))
          << name;
    }
  }
}

/// More runs than there are slots: the tiles that get none are one block's.
TEST(CudaAttention, SplitBeyondItsSlots) {
  const HostKernels &kernels = Kernels::build(false);
  ASSERT_TRUE(bool(kernels));
  Scene scene(kProblems[5], {140'000, 130'000, 500});
  Step alone = stepOf(scene, 1, 1);
  EXPECT_EQ(run(kernels, "a5_split", scene, alone, 1), run(kernels, "a5_decode", scene, alone, 1));
}

/// What a block wrote must be released to the one that merges: an atomic that orders nothing is
/// found on every schedule.
TEST(CudaAttention, PlantedMissingOrder) {
  const HostKernels &kernels = Kernels::build(true);
  ASSERT_TRUE(bool(kernels));
  Scene scene(kProblems[6], {1030});
  for (uint32_t seed : {1u, 2u, 3u, 4u}) {
    std::vector<emulator::Finding> findings;
    run(kernels, "planted_split", scene, stepOf(scene, 1, 1), seed, 0, &findings);
    EXPECT_TRUE(std::ranges::any_of(findings,
                                    [](const emulator::Finding &finding) {
                                      return finding.format().find("race") != std::string::npos;
                                    }))
        << "seed " << seed << ": " << (findings.empty() ? "nothing found" : findings[0].format());
  }
}

/// Attention asks for KV before pdl_wait: not for what the launch before it wrote.
TEST(CudaAttention, AfterTheLaunchThatAppends) {
  const HostKernels &kernels = Kernels::build(true);
  ASSERT_TRUE(bool(kernels));
  Scene scene(kProblems[6], {257, 513, 300, 514});
  Step alone = stepOf(scene, 1, 1);
  Emulated gpu(kernels, 1);
  std::vector<int32_t> positions, sequenceOf;
  for (auto [sequence, position] : alone.tokens)
    positions.push_back(int32_t(position)), sequenceOf.push_back(int32_t(sequence));
  BatchView batch{};
  batch.tokens = batch.tiles = batch.sequences = int64_t(positions.size());
  batch.positions = gpu.put(positions), batch.sequenceOf = gpu.put(sequenceOf);
  batch.attentionTiles = gpu.put(alone.tiles), batch.blockTable = gpu.put(scene.blockTable);
  batch.blockTableStride = scene.stride;
  std::vector<float> q = f32Rows(batch.tokens, 320, 1), kv = f32Rows(batch.tokens, 16, 2);
  float *qs = gpu.put(q, "q", false), *y = gpu.make<float>(q.size()), *kvs = gpu.put(kv);
  uint8_t *pool = gpu.put(scene.pool, "pool", false);
  auto *workspace = gpu.put(std::vector<uint8_t>(Kernels::workspace("a6")), "workspace", false);
  gpu.holds(workspace, replay::Element::F32, /*from=*/4096);
  for (const char *symbol : {"a6_split", "a6_decode"}) {
    gpu.launch("append", {qs, kvs, kvs, pool}, batch, /*wait=*/false);
    gpu.launch(symbol, {qs, pool, y, workspace}, batch);
  }
}

} // namespace
