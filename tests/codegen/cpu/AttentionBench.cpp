//===- AttentionBench.cpp - How fast are the generated attention kernels? --===//
//
//   attention-bench [--isa avx512] [--heads 32] [--kv-heads 8] [--head-dim 64] [--window 0]
//                   [--tokens N]… [--depth N]… [--rounds 9] [--print ELEMENT]
//
// The benchmark runs on one thread. For each depth and number of tokens (the last ones of the context), it times KV
// caches of f16, bf16 and int8. Calls alternate between the formats, so that load on the machine affects all of them
// equally. Each time is the best of many, on the thread's CPU clock. GOPS counts 4 operations for each query head,
// element and visible position. GB/s counts the bytes of K and V (with scales) that the context, or the window, holds.
//===----------------------------------------------------------------------===//
#include "PanelReference.h"
#include "ThreadClock.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

using namespace ingot;
using namespace ingot::codegen::cpu;
using namespace ingot::codegen::cpu::test;

struct Shape {
  int64_t heads = 32, kvHeads = 8, headDim = 64, window = 0;
};

/// A kernel and a pool of random numbers of its element type.
struct Contender {
  const char *element;
  int64_t pageBytes;
  KernelModule module;
  LoadedKernels code;
  Buffer<char> pool, scratch;

  Contender(const Shape &s, const char *element, const Isa &isa, int64_t depth)
      : element(element), pageBytes(bytesOfPage(s, element)), module(text(s, element)),
        code(module, isa), pool(depth / kPageTokens * pageBytes), scratch(scratchBytes(module)) {
    std::mt19937 random(1);
    int64_t codes =
        std::strcmp(element, "int8") ? pageBytes : pageBytes - 2 * s.kvHeads * kPageTokens * 4;
    for (int64_t page = 0; page < depth / kPageTokens; ++page)
      for (int64_t i = 0; i < pageBytes; i += 2) {
        uint16_t bits = random() & 0xb3ff; // an f16 below 1, a tiny bf16, or arbitrary codes
        float scale = 0.01f + float(random() % 100) * 1e-4f;
        char *to = pool.data() + page * pageBytes + i;
        if (i < codes)
          std::memcpy(to, &bits, 2);
        else if (i % 4 == 0)
          std::memcpy(to, &scale, 4);
      }
  }
  static int64_t bytesOfPage(const Shape &s, const char *element) {
    int64_t vector = std::strcmp(element, "int8") ? 2 * s.headDim : s.headDim + 4;
    return roundUp(2 * s.kvHeads * kPageTokens * vector, 64);
  }
  static std::string text(const Shape &s, const char *element) {
    std::string q = "!kernel.activation<" + std::to_string(s.heads * s.headDim) + ", f32>";
    std::string kv = "!kernel.kv_pool<" + std::to_string(s.kvHeads) + ", " +
                     std::to_string(s.headDim) + ", " + element + ">";
    return "kernel.func @k(%q: " + q + ", %kv: " + kv + ", %y: " + q +
           ") {\n kernel.attention %q, %kv : " + q + ", " + kv + " outs(%y : " + q +
           ") {heads = " + std::to_string(s.heads) +
           " : i64, scale = 1.25e-1 : f32, window = " + std::to_string(s.window) +
           " : i64, softcap = 0.0 : f32}\n kernel.return\n }";
  }
};

static void measure(const Shape &s, const Isa &isa, int64_t depth, int64_t tokens, int rounds) {
  std::vector<std::unique_ptr<Contender>> all;
  for (const char *element : {"f16", "bf16", "int8"})
    all.push_back(std::make_unique<Contender>(s, element, isa, depth));
  tokens = std::min(tokens, depth);
  Buffer<float> q = randomRows(tokens, s.heads * s.headDim, 8),
                y(tokens * f32RowBytes(s.heads * s.headDim) / 4);
  std::vector<int32_t> pages(depth / kPageTokens);
  std::iota(pages.begin(), pages.end(), 0);
  std::shuffle(pages.begin(), pages.end(), std::mt19937(2));
  std::vector<AttentionTile> tiles;
  for (int64_t t = 0; t < tokens; t += kAttentionTile)
    tiles.push_back({int32_t(t), int32_t(std::min(kAttentionTile, tokens - t)), 0,
                     int32_t(depth - tokens + t)});
  BatchView batch{};
  batch.tokens = tokens, batch.tiles = tiles.size(), batch.attentionTiles = tiles.data();
  batch.blockTable = pages.data(), batch.blockTableStride = pages.size();
  std::vector<double> best(all.size(), 1e9);
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < all.size(); ++i) {
      void *args[] = {q.data(), all[i]->pool.data(), y.data()};
      double start = threadSeconds();
      all[i]->code["k"](args, &batch, 0, int64_t(tiles.size()) * s.kvHeads, 1,
                        all[i]->scratch.data(), 0);
      best[i] = std::min(best[i], threadSeconds() - start);
    }
  auto seen = [&](int64_t positions) {
    return s.window ? std::min(positions, s.window) : positions;
  };
  double pairs = 0; // pairs of a query and a position visible to it
  for (int64_t p = depth - tokens; p < depth; ++p)
    pairs += double(seen(p + 1));
  std::printf("%s depth %6ld tokens %4ld", isa.name.data(), long(depth), long(tokens));
  for (size_t i = 0; i < all.size(); ++i)
    std::printf("  %5s %6.0f GOPS %5.1f GB/s %9.1f us", all[i]->element,
                4 * pairs * double(s.heads * s.headDim) / best[i] / 1e9,
                double(seen(depth) / kPageTokens * all[i]->pageBytes) / best[i] / 1e9,
                best[i] * 1e6);
  std::printf("\n");
}

int main(int argc, char **argv) {
  Shape shape;
  const Isa *isa = &kAvx512;
  std::vector<int64_t> depths, tokens;
  int rounds = 9;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string option = argv[i];
    const char *value = argv[i + 1];
    if (option == "--isa")
      isa = isaNamed(value);
    else if (option == "--heads")
      shape.heads = atol(value);
    else if (option == "--kv-heads")
      shape.kvHeads = atol(value);
    else if (option == "--head-dim")
      shape.headDim = atol(value);
    else if (option == "--window")
      shape.window = atol(value);
    else if (option == "--depth")
      depths.push_back(roundUp(atol(value), kPageTokens));
    else if (option == "--tokens")
      tokens.push_back(atol(value));
    else if (option == "--rounds")
      rounds = atoi(value);
    else if (option == "--print") {
      KernelModule module(Contender::text(shape, value));
      auto text = printKernel(module, *isa, CodeText::Assembly);
      return succeeded(text) ? puts(text->c_str()), 0 : 1;
    } else
      return fprintf(stderr,
                     "attention-bench: what is '%s'? (see the head of AttentionBench.cpp)\n",
                     argv[i]),
             2;
  }
  if (!isa || !hostRuns(*isa))
    return fprintf(stderr, "attention-bench: no such level, or not on this machine\n"), 2;
  if (depths.empty())
    depths = {512, 8192, 32768};
  if (tokens.empty())
    tokens = {1, 512};
  for (int64_t n : tokens)
    for (int64_t depth : depths)
      measure(shape, *isa, depth, n, n > 1 && depth > 8192 ? std::min(rounds, 3) : rounds);
}
