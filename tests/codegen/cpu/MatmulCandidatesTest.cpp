//===- MatmulCandidatesTest.cpp - The candidate filter does not change keys -===//
//
// A greedy step computes the second plane only where MatmulCandidates.h's bound requires it. Its keys
// are checked against the keys of the logits that another step of the same kernel writes
// (MatmulTest.cpp checks those against scalar C++). They must be equal in every bit, for any
// numbers, batches and partitions.
//===----------------------------------------------------------------------===//
#include "PanelReference.h"

using namespace ingot;
using namespace ingot::codegen::cpu;
using namespace ingot::codegen::cpu::test;

namespace {

const float kInf = std::numeric_limits<float>::infinity(), kNan = std::nanf("");

std::string rowsOf(const char *kind, int64_t n) {
  return "!kernel.activation<" + std::to_string(n) + ", " + kind + ">";
}

/// Returns a head that stores logits and one that leaves only keys. `yield` is the epilogue of %acc, ended by
/// kernel.yield.
std::string headKernel(const RandomWeight &w, const std::string &yield) {
  std::string x = rowsOf("q8x2", w.layout.k), y = rowsOf("f32", w.layout.n);
  std::string weight = "!lm.weight<" + std::to_string(w.layout.n) + "x" +
                       std::to_string(w.layout.k) + ", " + std::string(w.format.name) + ">";
  const std::string fusedValue = "!kernel.fused<" + std::to_string(w.layout.n) + ", f32>";
  auto kernel = [&](const std::string &name, const std::string &type, const std::string &consumer) {
    return "kernel.func @" + name + "(%x: " + x + ", %w: " + weight + ", %y: " + type +
           ") { %f = kernel.matmul %x : " + x + " weights(%w : " + weight + ") -> " + fusedValue +
           " attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {\n^bb0(%acc: "
           "f32):\n" +
           yield + "} " + consumer + " kernel.return }\n";
  };
  return kernel("head", y, "kernel.store %f : " + fusedValue + " into %y : " + y) +
         kernel("keys", "!kernel.activation<1, key>",
                "kernel.argmax %f : " + fusedValue + " keys %y : !kernel.activation<1, key>");
}
const std::string kIdentity = "kernel.yield %acc : f32";

/// Returns the key that MatmulKeys.h defines for these logits, or 0 if all are NaN.
uint64_t keyOf(const float *logits, int64_t n) {
  uint64_t key = 0;
  for (int64_t id = 0; id < n; ++id) {
    float value = logits[id] + 0.0f;
    if (std::isnan(value))
      continue;
    int32_t bits = readAs<int32_t>(reinterpret_cast<const char *>(&value));
    uint32_t order = uint32_t(bits < 0 ? bits ^ 0x7fffffff : bits) ^ 0x80000000u;
    key = std::max(key, uint64_t(order) << 32 | uint32_t(~id));
  }
  return key;
}

class Heads {
public:
  explicit Heads(const RandomWeight &w, const std::string &yield = kIdentity)
      : module(headKernel(w, yield)) {
    for (const Isa *isa : hostIsas())
      levels.emplace_back(module, *isa);
  }

  /// Checks that the keys of `rows` rows of x (f32), computed whole and split among three threads,
  /// are those of the logits.
  void check(RandomWeight &w, const Buffer<float> &x, int64_t rows, const std::string &what) {
    int64_t n = w.layout.n, width = f32RowBytes(n) / 4, panels = w.layout.panels;
    Buffer<char> planes = quantizeRows(x, rows, w.layout.k, 2);
    for (auto [level, code] : llvm::enumerate(levels)) {
      ASSERT_TRUE(code);
      Buffer<float> logits(rows * width);
      BatchView batch{};
      batch.rows = rows;
      code.call("head", {planes.data(), w.bytes.data(), logits.data()}, batch, 0, panels);
      for (int64_t threads : {1, 3}) {
        Buffer<uint64_t> keys(rows);
        for (int64_t thread = 0; thread < threads; ++thread)
          code.call("keys", {planes.data(), w.bytes.data(), keys.data()}, batch, thread, panels,
                    threads);
        for (int64_t row = 0; row < rows; ++row) {
          uint64_t want = keyOf(logits.data() + row * width, n);
          if (want) // if all logits are NaN, the id is 0
            ASSERT_EQ(keys[row], want) << what << ": level " << level << ", row " << row << " of "
                                       << rows << ", " << threads << " threads";
          else
            ASSERT_EQ(uint32_t(~keys[row]), 0u) << what;
        }
      }
    }
  }

private:
  KernelModule module;
  std::vector<LoadedKernels> levels;
};

/// Sets the f16 scale of a row in the block of k.
void setScale(RandomWeight &w, int64_t row, int64_t k, float scale) {
  _Float16 half = _Float16(scale);
  std::memcpy(w.bytes.data() + scalePlaces(w.layout, w.format, row, k).d, &half, 2);
}
/// Sets a code of 8 or 4 bits; `value` is relative to the zero point.
void setCode(RandomWeight &w, int64_t row, int64_t k, int value) {
  const CodePlace place = codePlace(w.layout, w.format, row, k);
  w.bytes[place.byte] &= char(~((1 << w.format.bits) - 1 << place.bit));
  putCode(place, w.format.bits, w.bytes.data(), value + w.format.zeroPoint);
  ASSERT_EQ(w.code(row, k), value + w.format.zeroPoint);
}

class MatmulCandidates : public testing::TestWithParam<WeightFormat> {};

/// Random numbers, batches of all tile sizes, and rows of x that are zero, huge, tiny, NaN or
/// infinite.
TEST_P(MatmulCandidates, AnyBatchAnyNumbers) {
  for (int64_t n : {1, 999}) {
    RandomWeight w(GetParam(), n, 160, 21);
    Heads heads(w);
    for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 32, int(kGreedyRows)}) {
      Buffer<float> x = randomRows(rows, 160, unsigned(rows));
      heads.check(w, x, rows, "random");
      if (rows > 9)
        continue;
      for (auto [name, value] : {std::pair("outlier", 1e4f),
                                 {"zero", 0.0f},
                                 {"NaN", kNan},
                                 {"-inf", -kInf},
                                 {"overflow", 3e38f},
                                 {"large", 1e21f},
                                 {"tiny", 1e-17f},
                                 {"denormal", 1e-41f}}) {
        Buffer<float> odd = randomRows(rows, 160, unsigned(rows));
        bool scales = std::abs(value) < 1 || value > 1e30f; // the whole last row
        for (int64_t k = 0; scales && k < 160; ++k)
          odd[(rows - 1) * 160 + k] *= value;
        odd[rows / 2 * 160 + 70] = value;
        heads.check(w, odd, rows, name);
      }
    }
  }
}

/// Tests logits where every candidate survives and where none does: the rows' logits rise, fall, are equal, or contain
/// one very large value.
TEST_P(MatmulCandidates, AnyOrderOfLogits) {
  constexpr int64_t n = 640, k = 256;
  Heads heads(RandomWeight(GetParam(), n, k, 22));
  for (const char *order : {"rising", "falling", "equal", "giant", "infinite", "NaN"}) {
    RandomWeight w(GetParam(), n, k, 22);
    const int64_t bytes = w.layout.panelBytes();
    for (int64_t row = 0; row < n; ++row) // every panel gets the codes of the first
      if (row % 32 == 0)
        std::memcpy(w.bytes.data() + row / 32 * bytes, w.bytes.data(), bytes);
    bool rises = order[0] == 'r', falls = order[0] == 'f';
    for (int64_t row = 0; row < n; ++row)
      for (int64_t at = 0; at < k; at += w.layout.blockK)
        setScale(w, row, at, rises ? 0.001f * float(row) : falls ? 0.001f * float(n - row) : 0.5f);
    if (!rises && !falls && order[0] != 'e')
      setScale(w, 417, 0, order[0] == 'g' ? 6e4f : order[0] == 'i' ? kInf : kNan);
    for (int64_t rows : {2, 5, 9}) {
      heads.check(w, randomRows(rows, k, 23), rows, order);
      heads.check(w, randomRows(rows, k, 24, -1), rows, order);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, MatmulCandidates,
                         testing::Values(WeightFormat::Q4_0, WeightFormat::Q5_0, WeightFormat::Q8_0,
                                         WeightFormat::Q6_K, WeightFormat::Int4G64,
                                         WeightFormat::Q3_K, WeightFormat::IQ4_XS,
                                         WeightFormat::Mxfp4, WeightFormat::Q4_1),
                         [](const auto &info) {
                           return std::string(numericFormat(info.param).name);
                         });

/// The bound is reached: in the first plane, row 0 of the last panel contributes nothing, but the
/// second plane makes it the largest. Rivals of earlier panels come within a tenth of it.
TEST(MatmulCandidatesBound, IsReached) {
  for (WeightFormat format : {WeightFormat::Q8_0, WeightFormat::Q4_0})
    for (float sign : {1.0f, -1.0f}) {
      constexpr int64_t n = 33 * 32, k = 64, winner = 32 * 32;
      RandomWeight w(format, n, k, 25);
      const int most = w.format.zeroPoint - (sign < 0), full = w.format.bits == 8 ? 127 : 7;
      for (int64_t row = 0; row < n; ++row)
        for (int64_t at = 0; at < k; ++at)
          setCode(w, row, at, 0);
      for (int64_t row = 0; row < n; ++row)
        for (int64_t at = 0; at < k; at += 32)
          setScale(w, row, at, row == winner ? 0.01f * sign : 0);
      for (int64_t at = 0; at < k; ++at)
        if (at % 32)
          setCode(w, winner, at, sign > 0 ? -most : most);
      // Each code of a rival contributes 127 to its logit; each code of the winner contributes 31 *
      // 125 / 256.
      const double worth = 2 * 31.0 * 125 / 256 * most;
      for (int64_t panel = 3; panel < 32; panel += 4) { // the panels between add only credit
        int64_t rival = panel * 32 + panel % 7;
        double part = worth * double(panel + 1) / 33 / 127;
        int code = std::min(int(part), full);
        setCode(w, rival, 0, int(sign) * code);
        setCode(w, rival, 32, int(sign) * std::min(int(part) - code, full));
        setScale(w, rival, 0, 0.01f * sign), setScale(w, rival, 32, 0.01f * sign);
      }
      Heads heads(w);
      for (int64_t rows : {2, 3, 8, 9}) {
        Buffer<float> x(rows * k);
        for (int64_t at = 0; at < rows * k; ++at) // q = 0, q' = -125
          x[at] = at % 32 ? -125.0f / 256 : 127.0f;
        heads.check(w, x, rows, std::string(w.format.name) + (sign < 0 ? " negative" : ""));
      }
    }
}

/// An epilogue that reverses the order is outside the bound, so the kernel computes both planes.
TEST(MatmulCandidatesBound, EpilogueOfItsOwn) {
  RandomWeight w(WeightFormat::Q8_0, 999, 160, 26);
  Heads heads(w, "%0 = arith.negf %acc : f32\nkernel.yield %0 : f32");
  heads.check(w, randomRows(9, 160, 27), 9, "negated");
}

} // namespace
