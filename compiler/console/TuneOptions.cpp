//===- TuneOptions.cpp - The command line of `ingot tune` -----------------===//
#include "compiler/console/Options.h"
#include "runtime/engine/Isa.h"
#include "tools/options/CommandLine.h"

#include <algorithm>
#include <cstdio>

using namespace ingot;
using namespace ingot::compiler;

Result<std::optional<CompileOptions>> compiler::parseTuneOptions(int argc,
                                                                 const char *const *argv) {
  CompileOptions o;
  o.emit = Emit::Rows;
  cli::CommandLine command(
      "Measures schedules of a model's matmuls on this machine and writes the faster ones as rows.",
      "ingot tune");
  command.examples(
      "  ingot tune smollm2.gguf -o rows.json\n"
      "  ingot compile smollm2.gguf --tuning rows.json -o smollm2.ingot\n"
      "  ingot tune config.json --weights seed --quantize int4-g64 --isa avx2 --seconds 300 -o rows.json\n"
      "Stop other programs first: they distort the measurement.\n");
  std::string precision = "fast", quantize, isa, weights;
  command
      .option("MODEL", o.model,
              "folder, .gguf, .safetensors, hf:ORG/NAME, or config.json with --weights")
      .required();
  command.option("-o,--output", o.output, "the file of rows to write (default: standard output)");
  command.option("--isa", isa, "the level to tune (default: the best that this machine supports)")
      .check([](const std::string &level) {
        return runtime::isaNamed(level) ? "" : "levels are " + runtime::isaNames("and");
      });
  command.option("--seconds", o.tuneSeconds, "approximate time to measure (default: 60)")
      .range(0.1, 86400.0);
  command
      .option("--quantize", quantize,
              "as in ingot compile: int8, int4-g32, int4-g64, int4-g128 or fp8")
      .oneOf({"int8", "int4-g32", "int4-g64", "int4-g128", "fp8"});
  command.option("--precision", precision, "fast or exact").oneOf({"fast", "exact"});
  command
      .option("--weights", weights,
              "dummy weights for a config.json, random or seed: only the shapes matter")
      .oneOf({"random", "seed"});
  command.option("-j,--jobs", o.threads, "threads that compile (default: all)").range(1, 256);
  command.flag("--quiet", o.quiet, "print only errors");
  auto parsed = command.parse(argc, argv);
  if (!parsed)
    return parsed.error();
  if (!*parsed)
    return std::optional<CompileOptions>();
  std::replace(quantize.begin(), quantize.end(), '-', '_');
  o.quantize = quantize;
  o.exact = precision == "exact";
  o.kv = o.exact ? "f32" : "f16";
  const auto best = runtime::hostCpu().best().value_or(runtime::IsaLevel::Avx2);
  o.targets = {!isa.empty() ? isa : std::string(isaName(best))};
  for (WeightOrigin origin : {WeightOrigin::Random, WeightOrigin::Seed})
    if (weights == weightOriginName(origin))
      o.weights = origin;
  return std::optional(std::move(o));
}
