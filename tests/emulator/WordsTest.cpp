//===- WordsTest.cpp - Each primitive against a scalar reference ---------------===//
#include "KernelSession.h"

#include <algorithm>
#include <bit>

namespace ingot::emulator {
namespace {

float floatOf(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bitsOf(float v) { return std::bit_cast<uint32_t>(v); }

class Words : public testing::TestWithParam<const char *> {
protected:
  KernelSession session{"words", GetParam(), /*seed=*/1};
};
INSTANTIATE_TEST_SUITE_P(Builds, Words, testing::Values("fast", "checked"),
                         [](const auto &info) { return std::string(info.param); });

TEST_P(Words, OfAWarp) {
  const auto in = Random(11).floats(32);
  auto *din = session.put(in, "in"), *dout = session.make<float>(12 * 32, "out");
  EXPECT_LAUNCHED(session.launch("warp_words", {.block = {32}}, dout, din));
  const auto out = session.get(dout, 12 * 32);
  uint32_t positive = 0;
  for (int l = 0; l < 32; l++)
    positive |= uint32_t(in[l] > 0) << l;
  auto butterfly = [&](std::vector<float> v, int first, int last, auto combine) {
    for (int d = first; d >= last; d /= 2) {
      std::vector<float> next(32);
      for (int l = 0; l < 32; l++)
        next[l] = combine(v[l], v[l ^ d]);
      v = next;
    }
    return v;
  };
  auto add = [](float a, float b) { return a + b; };
  auto greater = [](float a, float b) { return std::max(a, b); };
  const auto all = butterfly(in, 16, 1, add), quad = butterfly(in, 2, 1, add),
             column = butterfly(in, 16, 4, add), most = butterfly(in, 16, 1, greater);
  int sum = 0, top = -1000;
  for (float v : in) {
    sum += int(v * 100);
    top = std::max(top, int(v * 100));
  }
  for (int l = 0; l < 32; l++) {
    auto at = [&](int row) { return out[size_t(row * 32 + l)]; };
    EXPECT_EQ(at(0), in[l ^ 5]);
    EXPECT_EQ(at(1), in[l * 7 % 32]);
    EXPECT_EQ(at(2), in[l < 3 ? l : l - 3]);
    EXPECT_EQ(at(3), in[l > 27 ? l : l + 4]);
    EXPECT_EQ(bitsOf(at(4)), positive);
    EXPECT_EQ(at(5), *std::max_element(in.begin(), in.end()) > 0.9f);
    EXPECT_EQ(at(6), 1);
    EXPECT_EQ(at(7), all[l]);
    EXPECT_EQ(at(8), quad[l]);
    EXPECT_EQ(at(9), column[l]);
    EXPECT_EQ(at(10), most[l]);
    EXPECT_EQ(at(11), float(sum) + float(top));
  }
  EXPECT_LAUNCHED(session.launch("warp_sum_by_shuffles", {.block = {32}}, dout, din));
  EXPECT_EQ(session.get(dout, 32), all) << "warp_sum is not the butterfly it says it is";
}

/// Returns the distance in ulps of `want`.
double ulps(float got, double want) {
  if (std::isnan(want))
    return std::isnan(got) ? 0 : 1e9;
  if (got == float(want))
    return 0;
  if (std::isinf(float(want)) || std::isinf(got))
    return 1e9;
  const int exponent = std::max(std::ilogb(want), -126);
  return std::abs(got - want) / std::ldexp(1.0, exponent - 23);
}

struct Function {
  uint32_t op;
  const char *name;
  double (*reference)(double);
  float from, to;
  double tolerance; ///< in ulps
};
const Function kFunctions[] = {
    {0, "exp_f32", [](double v) { return std::exp(v); }, -110, 90, 1.1},
    {1, "log_f32", [](double v) { return std::log(v); }, 0, 10, 2},
    {1, "log_f32", [](double v) { return std::log(v); }, 0, 1e30f, 2},
    {2, "tanh_f32", [](double v) { return std::tanh(v); }, -10, 10, 2},
    {2, "tanh_f32", [](double v) { return std::tanh(v); }, -0.7f, 0.7f, 2},
    {3, "rsqrt_f32", [](double v) { return 1 / std::sqrt(v); }, 0, 1e6f, 1.5},
    {4, "sigmoid_f32", [](double v) { return 1 / (1 + std::exp(-v)); }, -80, 80, 3},
    {5, "exp2_fast", [](double v) { return v < -126 ? 0 : std::exp2(v); }, -130, 130, 2},
    {6, "tanh_fast", [](double v) { return std::tanh(v); }, -10, 10, 4096},
    {7, "exp_fast", [](double v) { return std::exp(v); }, -20, 20, 32},
};

TEST_P(Words, Functions) {
  const uint32_t n = std::string(GetParam()) == "fast" ? 200000 : 2000;
  for (const Function &f : kFunctions) {
    Random random(f.op);
    std::vector<float> in(n);
    for (float &v : in)
      v = random.uniform(f.from, f.to);
    const float special[] = {0,       1,           -1,       0.5f,      1e-8f,
                             1e-30f,  1e-39f,      1e-45f,   88.7f,     -87.5f,
                             -103.9f, 0.70710678f, INFINITY, -INFINITY, NAN};
    std::copy(std::begin(special), std::end(special), in.begin());
    auto *din = session.put(in, "in"), *dout = session.make<float>(n, "out");
    EXPECT_LAUNCHED(session.launch("functions", {.grid = {(n + 255) / 256}, .block = {256}}, dout,
                                   din, n, f.op));
    const auto out = session.get(dout, n);
    double worst = 0;
    size_t where = 0;
    for (size_t i = 0; i < n; i++) {
      if (f.op >= 5 && i < std::size(special))
        continue; // the fast functions promise little there
      if (const double d = ulps(out[i], f.reference(in[i])); d > worst) {
        worst = d;
        where = i;
      }
    }
    RecordProperty(std::string(f.name) + std::to_string(f.to), std::to_string(worst));
    EXPECT_LE(worst, f.tolerance) << f.name << "(" << in[where] << ") = " << out[where]
                                  << ", wanted " << f.reference(in[where]);
    session.device->free(din);
    session.device->free(dout);
  }
}

/// Returns the value of a small float by definition: sign, exponent, mantissa.
double valueOf(uint32_t bits, int exponentBits, int mantissaBits, bool hasInfinity) {
  const int bias = (1 << (exponentBits - 1)) - 1, mantissa = int(bits & ((1u << mantissaBits) - 1));
  const int exponent = int(bits >> mantissaBits & ((1u << exponentBits) - 1));
  const double sign = bits >> (exponentBits + mantissaBits) & 1 ? -1 : 1;
  const bool top = exponent == (1 << exponentBits) - 1;
  if (top && hasInfinity)
    return mantissa ? NAN : sign * INFINITY;
  if (top && mantissa == (1 << mantissaBits) - 1)
    return NAN;
  return sign * (exponent
                     ? std::ldexp((1 << mantissaBits) + mantissa, exponent - bias - mantissaBits)
                     : std::ldexp(mantissa, 1 - bias - mantissaBits));
}

TEST_P(Words, Widen) {
  auto *bf16 = session.make<float>(65536, "bf16"), *f16 = session.make<float>(65536, "f16"),
       *e4m3 = session.make<float>(65536, "e4m3"), *e5m2 = session.make<float>(65536, "e5m2");
  EXPECT_LAUNCHED(session.launch("widen", {.grid = {256}, .block = {256}}, bf16, f16, e4m3, e5m2));
  auto same = [](float got, double want) {
    return std::isnan(want) ? std::isnan(got) : bitsOf(got) == bitsOf(float(want));
  };
  size_t wrong = 0;
  for (uint32_t i = 0; i < 65536; i++)
    wrong += !same(bf16[i], valueOf(i, 8, 7, true)) + !same(f16[i], valueOf(i, 5, 10, true)) +
             !same(e4m3[i], valueOf(i & 255, 4, 3, false)) +
             !same(e5m2[i], valueOf(i & 255, 5, 2, true));
  EXPECT_EQ(wrong, 0u);
}

/// Rounds to nearest, ties to even, by searching all values. Numbers above the midpoint between the
/// largest value and the next power give `beyond`.
uint32_t narrowByDefinition(float v, int exponentBits, int mantissaBits, bool hasInfinity) {
  const uint32_t bits = 1u << (exponentBits + mantissaBits), sign = std::signbit(v) ? bits : 0;
  if (std::isnan(v))
    return hasInfinity ? bits - 1 : 0x7f;
  const double a = std::abs(double(v));
  const uint32_t most = hasInfinity ? ((1u << exponentBits) - 1) << mantissaBits : bits - 2;
  auto value = [&](uint32_t i) { // infinity takes the place of the next finite value
    return hasInfinity && i == most ? std::ldexp(1.0, 1 << (exponentBits - 1))
                                    : valueOf(i, exponentBits, mantissaBits, hasInfinity);
  };
  uint32_t low = 0, high = most;
  if (a >= value(most))
    return sign | most;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (value(middle) <= a ? low : high) = middle;
  }
  const double below = a - value(low), above = value(high) - a;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

TEST_P(Words, Narrow) {
  const uint32_t n = std::string(GetParam()) == "fast" ? 60000 : 3000;
  Random random(21);
  std::vector<float> in(n);
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t word = random.word();
    switch (i % 4) {
    case 0: // any float
      in[i] = floatOf(word);
      break;
    case 1: // near a tie of bf16
      in[i] = floatOf((word & 0xffff0000u) | 0x8000u | (word & 1));
      break;
    case 2: // around the range of f16 and fp8, their subnormals included
      in[i] = std::ldexp(random.uniform(), int(word % 45) - 27);
      break;
    case 3: // ties of f16 and of fp8
      in[i] = std::ldexp(float(int(word % 8192) * 2 + 1), int(word >> 16) % 30 - 26);
      break;
    }
  }
  const float special[] = {0,         -0.0f, INFINITY, -INFINITY, NAN, 65504,
                           65519.99f, 65520, 448,      464,       465, 3.4e38f};
  std::copy(std::begin(special), std::end(special), in.begin());
  auto *din = session.put(in, "in");
  auto *bf16 = session.make<uint16_t>(n, "bf16"), *f16 = session.make<uint16_t>(n, "f16");
  auto *e4m3 = session.make<uint8_t>(n, "e4m3");
  auto *pairs = session.make<uint32_t>(2 * n, "pairs");
  EXPECT_LAUNCHED(session.launch("narrow", {.grid = {(n + 255) / 256}, .block = {256}}, bf16, f16,
                                 e4m3, pairs, din, n));
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t b = narrowByDefinition(in[i], 8, 7, true),
                   f = narrowByDefinition(in[i], 5, 10, true),
                   e = narrowByDefinition(in[i], 4, 3, false);
    ASSERT_EQ(bf16[i], b) << in[i];
    ASSERT_EQ(f16[i], f) << in[i];
    ASSERT_EQ(e4m3[i], e) << in[i];
    const uint32_t flip = std::isnan(in[i]) ? 0 : 0x8000;
    ASSERT_EQ(pairs[2 * i], b | (b ^ flip) << 16) << in[i];
    ASSERT_EQ(pairs[2 * i + 1], (f ^ flip) | f << 16) << in[i];
  }
}

TEST_P(Words, PairArithmetic) {
  const uint32_t n = std::string(GetParam()) == "fast" ? 60000 : 2000;
  Random random(31);
  std::vector<uint32_t> a(n), b(n), c(n);
  auto number = [&](uint32_t i) { // any finite bf16; half are close together, so sums tie
    const uint32_t v = random.word();
    const uint32_t any = (v & 0x7f80) == 0x7f80 ? v & 0x8fff : v & 0xffff;
    return i % 2 ? any : 0x3f00 + (v & 0x81ff);
  };
  for (uint32_t i = 0; i < n; i++) {
    a[i] = number(i) | number(i + 1) << 16;
    b[i] = number(i) | number(i) << 16;
    c[i] = number(i / 2) | number(i) << 16;
  }
  auto *out = session.make<uint32_t>(4 * n, "out");
  EXPECT_LAUNCHED(session.launch("pair_arithmetic", {.grid = {(n + 255) / 256}, .block = {256}},
                                 out, session.put(a, "a"), session.put(b, "b"), session.put(c, "c"),
                                 n));
  // Compute x + y in f64, rounded to odd: rounding that again to bf16 equals rounding once. The
  // part that even 113 bits lose shows whether the sum is inexact.
  auto exact = [](__float128 x, __float128 y) {
    if ((x < 0 ? -x : x) < (y < 0 ? -y : y))
      std::swap(x, y);
    const __float128 sum = x + y, lost = y - (sum - x);
    const double d = double(sum);
    const __float128 rest = sum - d + lost;
    if (rest == 0 || std::isinf(d))
      return d;
    uint64_t bits = std::bit_cast<uint64_t>(d);
    if (!(bits & 1))
      bits += (rest > 0) == (d > 0) ? 1 : -1;
    return std::bit_cast<double>(bits);
  };
  auto rounded = [](double v) -> uint32_t { // rounds to bf16 in one step
    if (v == 0)
      return std::signbit(v) ? 0x8000 : 0;
    const float nearest = float(v);
    uint32_t bits = bitsOf(nearest);
    if (double(nearest) != v && !std::isinf(nearest)) {
      if (std::abs(double(nearest)) > std::abs(v))
        bits--;
      bits |= 1;
    }
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  };
  for (uint32_t i = 0; i < n; i++)
    for (int half = 0; half < 32; half += 16) {
      const float x = fromBf16(uint16_t(a[i] >> half)), y = fromBf16(uint16_t(b[i] >> half)),
                  z = fromBf16(uint16_t(c[i] >> half));
      auto got = [&](uint32_t op) { return out[op * n + i] >> half & 0xffff; };
      ASSERT_EQ(got(0), rounded(exact(x, y))) << x << " + " << y;
      ASSERT_EQ(got(1), rounded(exact(x, -y))) << x << " - " << y;
      if (x != 0 && y != 0) {
        ASSERT_EQ(got(2), rounded(exact(__float128(x) * y, 0))) << x << " * " << y;
        ASSERT_EQ(got(3), rounded(exact(__float128(x) * y, z))) << x << " * " << y << " + " << z;
      }
    }
}

TEST_P(Words, Bits) {
  const uint32_t a = 0x8c3f71a5u, b = 0x12e4d809u;
  auto *out = session.make<uint32_t>(6, "out");
  EXPECT_LAUNCHED(session.launch("bits", {}, out, a, b));
  EXPECT_EQ(out[0], (a & 0x000f000fu) | 0x43004300u);
  EXPECT_EQ(out[1], 0x12d88c71u); // bytes 7 5 3 1 of b:a
  EXPECT_EQ(out[2], 0x00ff71a5u); // bytes 1 0, and the signs of bytes 4 and 0
  EXPECT_EQ(out[3], uint32_t(std::popcount(a)));
  int dot = -7;
  for (int i = 0; i < 32; i += 8)
    dot += int8_t(a >> i) * int8_t(b >> i);
  EXPECT_EQ(int32_t(out[4]), dot);
  EXPECT_EQ(out[5] & 0xffff, 7u * 128 + ((3u ^ 7u) << 4));
  EXPECT_EQ(out[5] >> 16, 6u * 64 + ((1u ^ 3u) << 4));
}

TEST_P(Words, Atomics) {
  const uint32_t blocks = 7;
  std::vector<uint32_t> zero(10);
  zero[2] = uint32_t(-100000);
  auto *counters = session.put(zero, "counters");
  EXPECT_LAUNCHED(session.launch("atomics", {.grid = {blocks}, .block = {64}}, counters));
  const auto got = session.get(counters, 10);
  EXPECT_EQ(got[0], blocks * 64);
  EXPECT_EQ(got[1], blocks * 64 - 1);
  EXPECT_EQ(int(got[2]), 5);
  EXPECT_EQ(got[5], blocks * 64 - 1);
  EXPECT_EQ(got[4], 63u);
  EXPECT_GE(got[6], 1u);
  EXPECT_LE(got[6], blocks * 64);
  EXPECT_EQ(got[8], 0u);
  EXPECT_EQ(got[9], 448u * 447 / 2 + 448 / 2) << "with carries from the lower word";
}

TEST_P(Words, ZeroFill) {
  std::vector<uint8_t> in(512);
  for (size_t i = 0; i < in.size(); i++)
    in[i] = uint8_t(i % 251 + 1);
  auto *out = session.make<uint8_t>(512, "out");
  EXPECT_LAUNCHED(session.launch("zero_fill", {.block = {32}}, out, session.put(in, "in")));
  for (uint32_t t = 0; t < 32; t++)
    for (uint32_t i = 0; i < 16; i++) {
      uint32_t want = i < t % 17 ? in[t * 16 + i] : 0;
      if (t < 8 && i >= 8)
        want = i - 8 < t % 9 ? in[t * 16 + i - 8] : 0;
      else if (t < 8 && i >= 4)
        want = i - 4 < t % 5 ? in[t * 16 + i - 4] : 0;
      ASSERT_EQ(out[t * 16 + i], want) << t << " " << i;
    }
}

TEST_P(Words, NamedBarriersOfRoles) {
  auto *out = session.make<uint32_t>(32, "out");
  EXPECT_LAUNCHED(session.launch("roles", {.block = {96}}, out));
  for (uint32_t i = 0; i < 32; i++)
    EXPECT_EQ(out[i], i + 1 + 100 * (i + 32));
}

} // namespace
} // namespace ingot::emulator
