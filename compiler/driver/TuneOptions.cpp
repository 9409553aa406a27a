//===- TuneOptions.cpp - The command line of `ingot tune` -----------------===//
#include "compiler/driver/Options.h"
#include "runtime/engine/Isa.h"
#include "tools/options/CommandLine.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

using namespace ingot;
using namespace ingot::compiler;

Result<std::optional<CompileOptions>> compiler::parseTuneOptions(int argc,
                                                                 const char *const *argv) {
  CompileOptions o;
  o.emit = Emit::Rows;
  CLI::App app(
      "Measures schedules of a model's matmuls on this machine and writes the faster ones as rows.",
      "ingot tune");
  cli::prepare(app);
  cli::examples(
      app,
      "  ingot tune smollm2.gguf -o rows.json\n"
      "  ingot compile smollm2.gguf --tuning rows.json -o smollm2.ingot\n"
      "  ingot tune config.json --weights seed --quantize int4-g64 --isa avx2 --seconds 300 -o rows.json\n"
      "A quiet machine is half of the measurement: end what else runs.\n");
  std::string precision = "fast", quantize, isa, weights;
  app.add_option("MODEL", o.model, "folder, .gguf, .safetensors, or config.json with --weights")
      ->required();
  app.add_option("-o,--output", o.output, "the file of rows to write (default: standard output)");
  app.add_option("--isa", isa, "the level to tune (default: the best of this machine)")
      ->check(CLI::IsMember({"avx2", "avx512"}));
  app.add_option("--seconds", o.tuneSeconds, "how long to measure, about (default: 60)")
      ->check(CLI::Range(0.1, 86400.0));
  app.add_option("--quantize", quantize,
                 "as ingot compile has it: int8, int4-g32, int4-g64, int4-g128 or fp8")
      ->check(CLI::IsMember({"int8", "int4-g32", "int4-g64", "int4-g128", "fp8"}));
  app.add_option("--precision", precision, "fast or exact")
      ->check(CLI::IsMember({"fast", "exact"}));
  app.add_option("--weights", weights,
                 "of a config.json: random or seed; the shapes are what matters")
      ->check(CLI::IsMember({"random", "seed"}));
  app.add_option("-j,--jobs", o.threads, "threads that compile (default: all)")
      ->check(CLI::Range(1, 256));
  app.add_flag("--quiet", o.quiet, "print nothing but errors");
  auto parsed = cli::parse(app, argc, argv);
  if (!parsed)
    return parsed.error();
  if (!*parsed)
    return std::optional<CompileOptions>();
  std::replace(quantize.begin(), quantize.end(), '-', '_');
  o.quantize = quantize;
  o.exact = precision == "exact";
  o.kv = o.exact ? "f32" : "f16";
  o.targets = {!isa.empty() ? isa : runtime::hostCpu().avx512 ? "avx512" : "avx2"};
  for (WeightOrigin origin : {WeightOrigin::Random, WeightOrigin::Seed})
    if (weights == weightOriginName(origin))
      o.weights = origin;
  return std::optional(std::move(o));
}
