//===- Summary.cpp --------------------------------------------------------===//
#include "compiler/driver/report/Summary.h"
#include "runtime/engine/Inspect.h"
#include "runtime/text/Json.h"

#include <cstdio>

using namespace ingot;
using namespace ingot::compiler;

Result<void> compiler::printSummary(const CompileOptions &options,
                                    const std::vector<Progress::Phase> &phases) {
  auto engine = runtime::EngineFile::open(options.output);
  if (!engine)
    return engine.error();
  const auto &programs = *(*engine)->table().programs();
  auto memory = runtime::memoryPlan(**engine, {}, *programs[0]);
  if (!memory)
    return memory.error();
  // The memory plan of the GPU's program, in addition to the CPU's.
  std::string gpuText, gpuJson;
  if (programs.size() > 1) {
    auto gpu = runtime::memoryPlan(**engine, {}, *programs[1]);
    if (!gpu)
      return gpu.error();
    gpuText = "\non a GPU\n" + gpu->text();
    gpuJson = ",\"gpu_memory\":" + gpu->json();
  }
  const std::string taken = runtime::textTaken((*engine)->table());
  double total = 0;
  for (const Progress::Phase &phase : phases)
    total += phase.seconds;
  if (options.json) {
    std::printf("{\"engine_bytes\":%llu,\"seconds\":%.3f,\"phases\":{",
                static_cast<unsigned long long>((*engine)->fileBytes()), total);
    for (size_t i = 0; i < phases.size(); ++i)
      std::printf("%s\"%s\":%.3f", i ? "," : "", phases[i].name.c_str(), phases[i].seconds);
    std::printf("},\"text\":%s,\"memory\":%s%s}\n", text::jsonString(taken).c_str(),
                memory->json().c_str(), gpuJson.c_str());
  } else if (!options.quiet) {
    std::fprintf(stderr, "%-10s %6.2f s\ntext: %s\n\n%s%s", "total", total, taken.c_str(),
                 memory->text().c_str(), gpuText.c_str());
  }
  return {};
}
