//===- MatmulBench.cpp - Benchmark of the generated matmuls ---------------===//
//
//   matmul-bench [--isa avx512] [--k 2048] [--schedule "tiles = [6, 1], block = 60, prefetch = 0"]
//                [--ahead 8192] [--exact] [--pair] [--tokens 1,4,8] [--mb 96] [--spills | --print] [FORMAT…]
//
// The benchmark runs on one thread. Decode: the weights have 96 MB, so that they are read from memory (with --mb 1,
// from the L2 cache), and the result is GB/s of weights at 1, 4 and 8 tokens. Prefill: N is 1536 with 512 tokens, and
// the result is GOPS (2 N K T). Each time is the best of many, on the thread's CPU clock, so that other processes
// disturb it little. --spills counts stack accesses of the code instead; --print also prints the code. --pair computes
// silu(gate) * up, quantised.
//===----------------------------------------------------------------------===//
#include "PanelReference.h"
#include "ThreadClock.h"

#include <algorithm>
#include <cstdio>

using namespace ingot;
using namespace ingot::codegen::cpu;
using namespace ingot::codegen::cpu::test;

static const char *const kSiluMul = R"(%one = arith.constant 1.0 : f32
  %n = arith.negf %acc : f32
  %e = math.exp %n : f32
  %d = arith.addf %e, %one : f32
  %s = arith.divf %acc, %d : f32
  %0 = arith.mulf %s, %up : f32
  kernel.yield %0 : f32)";

static std::string kernelText(const NumericFormat &format, const char *kind, int64_t n, int64_t k,
                              const std::string &schedule, bool pair) {
  std::string x = "!kernel.activation<" + std::to_string(k) + ", " + kind + ">";
  std::string y = "!kernel.activation<" + std::to_string(n) + (pair ? ", q8>" : ", f32>");
  std::string w = "!lm.weight<" + std::to_string(n) + "x" + std::to_string(k) + ", " +
                  std::string(format.name) + ">";
  return "kernel.func @plain(%x: " + x + ", %w: " + w + ", %v: " + w + ", %y: " + y +
         ") { kernel.matmul %x : " + x + " weights(%w" +
         (pair ? ", %v : " + w + ", " + w : " : " + w) + ") outs(%y : " + y +
         ") attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>" +
         (pair ? ", gated" : "") + (format.isFloat() ? ", fast_float" : "") +
         (schedule.empty() ? "" : ", schedule = #kernel.schedule<" + schedule + ">") +
         "} {\n^bb0(%acc: f32" +
         (pair ? std::string(", %up : f32): ") + kSiluMul : "): kernel.yield %acc : f32") +
         "} kernel.return }";
}

struct Settings {
  const Isa *isa = &kAvx512;
  std::string schedule;
  const char *kind = "q8";
  bool spills = false, print = false, pair = false;
  int64_t ahead = 0, megabytes = 96;
  std::vector<int64_t> tokens{1, 4, 8};
};

/// Returns the best time in seconds of a call over all panels.
static double best(const LoadedKernels &code, std::vector<void *> args, int64_t tokens,
                   int64_t panels, int rounds, int64_t ahead) {
  BatchView batch{};
  batch.tokens = tokens;
  double least = 1e9;
  for (int i = 0; i < rounds; ++i) {
    double start = threadSeconds();
    code.call("plain", args, batch, 0, panels, 1, ahead);
    least = std::min(least, threadSeconds() - start);
  }
  return least;
}

static void measure(WeightFormat id, int64_t k, const Settings &settings) {
  const NumericFormat &format = numericFormat(id);
  int64_t perRow = panelLayout(id, 32, k).bytes() / 32,
          n = roundUp((settings.megabytes << 20) / perRow, 32), small = 1536;
  const char *kind = format.isFloat() ? "f32" : settings.kind;
  KernelModule module(kernelText(format, kind, n, k, settings.schedule, settings.pair));
  if (settings.spills) {
    auto text = printKernel(module, *settings.isa, CodeText::Assembly);
    if (settings.print && succeeded(text))
      puts(text->c_str());
    size_t stack = 0, lines = 0;
    for (size_t at = 0; succeeded(text) && (at = text->find('\n', at)) != std::string::npos;
         ++at, ++lines) {
      std::string line = text->substr(at + 1, text->find('\n', at + 1) - at - 1);
      bool vector =
          line.find("%ymm") != std::string::npos || line.find("%zmm") != std::string::npos;
      stack += vector && line.find("(%rsp)") != std::string::npos;
    }
    printf("%-9s %s K=%-5ld %6zu lines, %zu vector spills\n", format.name.data(),
           settings.isa->name.data(), k, lines, stack);
    return;
  }
  RandomWeight w(id, n, k, 1), v(id, settings.pair ? n : small, k, 2);
  bool quantised = kind[0] == 'q';
  Buffer<float> rows = randomRows(512, k, 2),
                y(std::max(512 * small, std::ranges::max(settings.tokens) * n));
  Buffer<char> q8 = quantizeRows(rows, 512, k);
  void *x = quantised ? static_cast<void *>(q8.data()) : rows.data();
  LoadedKernels code(module, *settings.isa);
  KernelModule prefillModule(kernelText(format, kind, small, k, settings.schedule, settings.pair));
  LoadedKernels prefill(prefillModule, *settings.isa);
  printf("%-9s %s K=%-5ld decode", format.name.data(), settings.isa->name.data(), k);
  double work = settings.pair ? 2 : 1, bytes = work * double(w.layout.bytes());
  for (int64_t tokens : settings.tokens)
    printf("  %ld: %5.1f GB/s", tokens,
           bytes /
               best(code, {x, w.bytes.data(), v.bytes.data(), y.data()}, tokens, w.layout.panels,
                    int(std::max<int64_t>(12, 1000 / settings.megabytes)), settings.ahead) /
               1e9);
  double seconds = best(prefill, {x, w.bytes.data(), v.bytes.data(), y.data()}, 512, small / 32, 40,
                        settings.ahead);
  printf("  prefill %5.0f GOPS\n", 2.0 * small * k * 512 * work / seconds / 1e9);
}

int main(int argc, char **argv) {
  Settings settings;
  std::vector<int64_t> widths;
  std::vector<WeightFormat> formats;
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    if (option == "--isa" && i + 1 < argc)
      settings.isa = isaNamed(argv[++i]);
    else if (option == "--k" && i + 1 < argc)
      widths.push_back(atol(argv[++i]));
    else if (option == "--ahead" && i + 1 < argc)
      settings.ahead = atol(argv[++i]);
    else if (option == "--schedule" && i + 1 < argc)
      settings.schedule = argv[++i];
    else if (option == "--mb" && i + 1 < argc)
      settings.megabytes = atol(argv[++i]);
    else if (option == "--tokens" && i + 1 < argc) {
      settings.tokens.clear();
      for (const char *at = argv[++i]; *at; at += *at == ',')
        settings.tokens.push_back(strtol(at, const_cast<char **>(&at), 10));
    } else if (option == "--spills")
      settings.spills = true;
    else if (option == "--print")
      settings.spills = settings.print = true;
    else if (option == "--exact")
      settings.kind = "f32";
    else if (option == "--pair")
      settings.pair = true;
    else if (auto format = weightFormatNamed(option))
      formats.push_back(*format);
    else
      return fprintf(stderr, "matmul-bench: what is '%s'? (see the head of MatmulBench.cpp)\n",
                     argv[i]),
             2;
  }
  if (!settings.isa || !(settings.spills || hostRuns(*settings.isa)))
    return fprintf(stderr, "matmul-bench: no such level, or not on this machine\n"), 2;
  if (widths.empty())
    widths = {576, 2048};
  if (formats.empty())
    formats = {WeightFormat::Q4_0, WeightFormat::Q4_1, WeightFormat::Q8_0, WeightFormat::Q6_K};
  for (WeightFormat format : formats)
    for (int64_t k : widths)
      measure(format, k, settings);
}
