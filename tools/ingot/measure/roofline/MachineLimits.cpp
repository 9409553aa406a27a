//===- MachineLimits.cpp - See MachineLimits.h ----------------------------===//
//
// Intrinsics are allowed here, because a probe measures instructions and is not one of our kernels.
//===----------------------------------------------------------------------===//
#include "tools/ingot/measure/roofline/MachineLimits.h"

#include "runtime/device/cpu/HostMemory.h"
#include "tools/terminal/Console.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <immintrin.h>
#include <limits>
#include <thread>
#include <vector>

#define AVX2 __attribute__((target("avx2,fma")))
#define AVX_VNNI __attribute__((target("avx2,fma,avxvnni")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#define AVX512_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define AMX_BF16 __attribute__((target("amx-tile,amx-bf16")))

namespace ingot::cli {

namespace {

constexpr size_t kMappedBytes = size_t(192) << 20,
                 kBlock = 576; // a block of 32 rows x 32 k of int4
constexpr int kChains = 16, kRepeats = 5;
constexpr long kSteps = 400000;

/// Keeps the compiler from removing the work.
volatile long long sink;

/// Prefetches bytes that follow the block, in one of the two ways in which kernels prefetch (docs/cpu.md).
inline void ask(const char *block, bool eachLine) {
  if (!eachLine)
    return _mm_prefetch(block + 16384, _MM_HINT_T1);
  for (size_t line = 0; line < kBlock; line += 64)
    _mm_prefetch(block + 8192 + line, _MM_HINT_T1);
}

AVX512 void readAvx512(const char *p, size_t bytes, bool eachLine) {
  __m512i sums[4] = {}, mask = _mm512_set1_epi8(15), x = _mm512_set1_epi32(0x01020304);
  for (size_t i = 0; i + kBlock <= bytes; i += kBlock) {
    ask(p + i, eachLine);
    for (int line = 0; line < 8; ++line) {
      __m512i codes = _mm512_loadu_si512(p + i + 64 * line);
      sums[line % 4] = _mm512_dpbusd_epi32(sums[line % 4], _mm512_and_si512(codes, mask), x);
      sums[(line + 2) % 4] = _mm512_dpbusd_epi32(
          sums[(line + 2) % 4], _mm512_and_si512(_mm512_srli_epi16(codes, 4), mask), x);
    }
    sums[0] = _mm512_add_epi32(sums[0], _mm512_loadu_si512(p + i + 512));
  }
  sink = _mm512_reduce_add_epi32(
      _mm512_add_epi32(_mm512_add_epi32(sums[0], sums[1]), _mm512_add_epi32(sums[2], sums[3])));
}

AVX2 void readAvx2(const char *p, size_t bytes, bool eachLine) {
  __m256i sums[4] = {};
  for (size_t i = 0; i + kBlock <= bytes; i += kBlock) {
    ask(p + i, eachLine);
    for (int part = 0; part < 18; ++part)
      sums[part % 4] = _mm256_add_epi64(
          sums[part % 4], _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p + i + 32 * part)));
  }
  __m256i sum =
      _mm256_add_epi64(_mm256_add_epi64(sums[0], sums[1]), _mm256_add_epi64(sums[2], sums[3]));
  sink = _mm256_extract_epi64(sum, 0) + _mm256_extract_epi64(sum, 3);
}

AVX512 void int8Avx512() {
  __m512i sums[kChains] = {}, x = _mm512_set1_epi32(3), y = _mm512_set1_epi32(7);
  for (long step = 0; step < kSteps; ++step) {
    for (__m512i &sum : sums)
      sum = _mm512_dpbusd_epi32(sum, x, y);
    asm volatile("" : "+v"(x)); // keeps the multiplication in the loop
  }
  long long all = 0;
  for (__m512i sum : sums)
    all += _mm512_reduce_add_epi32(sum);
  sink = all;
}
AVX512_BF16 void bf16Avx512() {
  __m512 sums[kChains] = {};
  __m512i x = _mm512_set1_epi32(0x3f803f80), y = x;
  for (long step = 0; step < kSteps; ++step) {
    for (__m512 &sum : sums)
      sum = _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)y);
    asm volatile("" : "+v"(x));
  }
  float all = 0;
  for (__m512 sum : sums)
    all += _mm512_reduce_add_ps(sum);
  sink = static_cast<long long>(all);
}
AMX_BF16 void bf16Amx() {
  // Palette 1, and eight tiles of 16 rows of 64 bytes (codegen/cpu/MatmulAmx.cpp).
  alignas(64) uint8_t tiles[64] = {1};
  for (int i = 0; i < 8; ++i)
    tiles[16 + 2 * i] = 64, tiles[48 + i] = 16;
  _tile_loadconfig(tiles);
  _tile_zero(0), _tile_zero(1), _tile_zero(2), _tile_zero(3), _tile_zero(4), _tile_zero(5);
  for (long step = 0; step < kSteps / 16; ++step) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  _tile_release();
}
AVX512 void f32Avx512() {
  __m512 sums[kChains] = {}, x = _mm512_set1_ps(1), y = _mm512_set1_ps(1);
  for (long step = 0; step < kSteps; ++step) {
    for (__m512 &sum : sums)
      sum = _mm512_fmadd_ps(x, y, sum);
    asm volatile("" : "+v"(x));
  }
  float all = 0;
  for (__m512 sum : sums)
    all += _mm512_reduce_add_ps(sum);
  sink = static_cast<long long>(all);
}

// AVX2 has sixteen registers; twelve chains leave room for the operands. An int8 chain adds its products
// in int16, as the kernels do.
constexpr int kChainsAvx2 = 12;
AVX2 void int8Avx2() {
  __m256i sums[kChainsAvx2] = {}, x = _mm256_set1_epi8(1), y = _mm256_set1_epi8(1);
  for (long step = 0; step < kSteps; ++step) {
    for (__m256i &sum : sums) {
      sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(x, y));
      asm volatile("" : "+x"(x));
    }
  }
  for (__m256i sum : sums)
    sink = sink + _mm256_extract_epi64(sum, 1);
}
AVX_VNNI void int8AvxVnni() {
  __m256i sums[kChainsAvx2] = {}, x = _mm256_set1_epi8(1), y = _mm256_set1_epi8(1);
  for (long step = 0; step < kSteps; ++step) {
    for (__m256i &sum : sums)
      sum = _mm256_dpbusd_avx_epi32(sum, x, y);
    asm volatile("" : "+x"(x));
  }
  for (__m256i sum : sums)
    sink = sink + _mm256_extract_epi64(sum, 1);
}
AVX2 void f32Avx2() {
  __m256 sums[kChainsAvx2] = {}, x = _mm256_set1_ps(1), y = _mm256_set1_ps(1);
  for (long step = 0; step < kSteps; ++step) {
    for (__m256 &sum : sums)
      sum = _mm256_fmadd_ps(x, y, sum);
    asm volatile("" : "+x"(x));
  }
  for (__m256 sum : sums)
    sink = sink + static_cast<long long>(_mm256_cvtss_f32(sum));
}

/// Returns the seconds of each repeat of work(thread) on all threads, sorted. The threads start and end
/// together.
std::vector<double> timesOf(int threads, const std::function<void(int)> &work) {
  std::vector<double> times;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t)
      others.emplace_back(work, t);
    work(0);
    for (std::thread &other : others)
      other.join();
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times;
}

double readRate(runtime::IsaLevel level, int threads) {
  // Engines are mapped with huge pages if the file system supports them (HugePageWriter.h). Reads through
  // small pages are a quarter slower.
  auto memory = cpu::HostMemory::allocate(kMappedBytes, "the read test", /*hugePages=*/true);
  if (!memory)
    return 0;
  std::memset(memory->data(), 1, kMappedBytes);
  const size_t part = kMappedBytes / static_cast<size_t>(threads) / kBlock * kBlock;
  double least = std::numeric_limits<double>::infinity();
  for (bool eachLine : {false, true}) {
    auto times = timesOf(threads, [&](int t) {
      const char *from =
          reinterpret_cast<const char *>(memory->data()) + static_cast<size_t>(t) * part;
      // The last prefetches go beyond the mapping, but a prefetch never faults.
      level >= runtime::IsaLevel::Avx512Vnni ? readAvx512(from, part, eachLine)
                                             : readAvx2(from, part, eachLine);
    });
    least = std::min(least, times[kRepeats / 2]);
  }
  return static_cast<double>(part) * threads / least / 1e9;
}

double rate(int threads, void (*work)(), double operationsPerStep) {
  auto times = timesOf(threads, [&](int) { work(); });
  return operationsPerStep * static_cast<double>(kSteps) * threads / times[0] / 1e9;
}

} // namespace

MachineLimits measureLimits(runtime::IsaLevel level, int threads) {
  const double read = readRate(level, threads);
  MachineLimits limits = measureRates(level, threads);
  limits.readGbPerS = read;
  return limits;
}

MachineLimits measureRates(runtime::IsaLevel level, int threads) {
  MachineLimits limits;
  if (level >= runtime::IsaLevel::Avx512Vnni) {
    limits.int8Gops = rate(threads, int8Avx512, 128 * kChains);
    limits.f32Gflops = rate(threads, f32Avx512, 32 * kChains);
  } else {
    limits.int8Gops = rate(threads, level == runtime::IsaLevel::AvxVnni ? int8AvxVnni : int8Avx2,
                           64 * kChainsAvx2);
    limits.f32Gflops = rate(threads, f32Avx2, 16 * kChainsAvx2);
  }
  limits.bf16Gflops = level == runtime::IsaLevel::Amx      ? rate(threads, bf16Amx, 4 * 16384 / 16)
                      : level == runtime::IsaLevel::Avx512 ? rate(threads, bf16Avx512, 64 * kChains)
                                                           : limits.f32Gflops;
  return limits;
}

MachineLimits higher(const MachineLimits &before, const MachineLimits &after) {
  return {std::max(before.readGbPerS, after.readGbPerS), std::max(before.int8Gops, after.int8Gops),
          std::max(before.bf16Gflops, after.bf16Gflops),
          std::max(before.f32Gflops, after.f32Gflops)};
}

double loadAverage() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

std::string busyNote(const MachineLimits &before, const MachineLimits &after, double load) {
  constexpr double kSteady = 0.75;
  auto apart = [](double a, double b) { return std::min(a, b) < kSteady * std::max(a, b); };
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  std::string why;
  if (apart(before.readGbPerS, after.readGbPerS))
    why = formatted("mapped read %.1f GB/s before and %.1f after", before.readGbPerS,
                    after.readGbPerS);
  else if (apart(before.int8Gops, after.int8Gops))
    why = formatted("%.2f int8 TOPS before and %.2f after", before.int8Gops / 1e3,
                    after.int8Gops / 1e3);
  if (load > 0.5 * processors)
    why +=
        (why.empty() ? "" : ", ") + formatted("a load of %.1f on %u processors", load, processors);
  return why.empty() ? ""
                     : "the machine is busy (" + why +
                           "): times and shares are distorted by other programs";
}

} // namespace ingot::cli
