//===- DeviceOptions.cpp - See DeviceOptions.h ----------------------------===//
#include "compiler/options/DeviceOptions.h"
#include "runtime/engine/GpuTarget.h"
#include "runtime/engine/Isa.h"
#include "runtime/formats/KvFormat.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::compiler;

static Error usage(std::string code, std::string what, std::string why, std::string fix) {
  return {ExitCode::Usage, std::move(code), std::move(what), std::move(why), std::move(fix)};
}

/// The ISA levels that `--target cpu` selects, for an engine that runs on many machines. Each machine runs the code of
/// one level. An engine without bf16 matrices has no code for `amx` (CpuTarget.cpp).
constexpr runtime::IsaLevel kPortable[] = {runtime::IsaLevel::Avx2, runtime::IsaLevel::Avx512,
                                           runtime::IsaLevel::Amx};

std::string compiler::architectureNames(const char *separator) {
  std::string names;
  for (const runtime::GpuArch &arch : runtime::gpuArchitectures())
    names += (names.empty() ? "" : separator) + std::string(arch.name);
  return names;
}

std::string compiler::levelTargets() {
  std::string names;
  for (runtime::IsaLevel level : runtime::isaLevels())
    names += (names.empty() ? "" : ", ") + std::string(isaTarget(level));
  return names;
}

Result<void> compiler::addTarget(const std::string &target, CompileOptions &options) {
  std::vector<std::string> levels, gpus;
  if (target == "cpu")
    for (runtime::IsaLevel level : kPortable)
      levels.emplace_back(isaName(level));
  for (runtime::IsaLevel level : runtime::isaLevels())
    if (target == isaTarget(level))
      levels.emplace_back(isaName(level));
  for (const runtime::GpuArch &arch : runtime::gpuArchitectures()) {
    const std::string name = "cuda:" + std::string(arch.name);
    if (target == "cuda" || target == name)
      gpus.push_back(name);
    if (target == "cuda-emulator:" + std::string(arch.name))
      gpus.push_back(target);
  }
  if (target == "cuda" || target == runtime::kPtxTarget)
    gpus.emplace_back(runtime::kPtxTarget);
  if (levels.empty() && gpus.empty())
    return usage("E0402", "unknown target '" + target + "'",
                 "targets are cpu, " + levelTargets() + "; cuda, cuda:" + architectureNames(", ") +
                     ", compute_80 (PTX); cuda-emulator:sm_90a",
                 "--target cpu");
  auto add = [](std::vector<std::string> &to, const std::vector<std::string> &from) {
    to.insert(to.end(), from.begin(), from.end());
    std::sort(to.begin(), to.end()); // the order of flags must not change the engine
    to.erase(std::unique(to.begin(), to.end()), to.end());
  };
  add(options.targets, levels);
  add(options.gpuTargets, gpus);
  return {};
}

Result<void> compiler::chooseKv(CompileOptions &o) {
  const std::optional<KvFormat> wanted = kvFormatNamed(o.kv);
  if (!o.kv.empty() && !wanted)
    return usage("E0403", "unsupported type of KV cache '" + o.kv + "'",
                 "types are " + kvFormatNames(isOfAny, "and"),
                 o.kv.find('=') == std::string::npos
                     ? "--kv bf16"
                     : "kv-layers = [ { layers = \"0-3\", format = \"bf16\" } ]");
  const bool gpuHas = wanted && kvFormat(*wanted).gpu, cpuHas = wanted && kvFormat(*wanted).cpu;
  o.kvAsked = o.kv;
  o.gpuKv = gpuHas ? o.kv : std::string(kvFormat(kGpuKv).name);
  if (o.targets.empty())
    o.kv = o.gpuKv;
  else if (!cpuHas)
    o.kv = kvFormat(o.exact ? kExactKv : kCpuKv).name;
  return {};
}
