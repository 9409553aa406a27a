//===- GpuTarget.cpp - See GpuTarget.h ------------------------------------===//
#include "runtime/engine/GpuTarget.h"

#include <charconv>

namespace ingot::runtime {

static bool take(std::string_view &text, std::string_view prefix) {
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

static constexpr GpuArch kArchitectures[] = {
    {"sm_80", false},   {"sm_89", false},   {"sm_90a", true},
    {"sm_100a", false}, {"sm_120a", false}, {"sm_121a", false},
};

std::span<const GpuArch> gpuArchitectures() { return kArchitectures; }

const GpuArch *gpuArchOf(std::string_view target) {
  for (const GpuArch &arch : kArchitectures)
    if (target.ends_with(arch.name) && target.size() > arch.name.size() &&
        target[target.size() - arch.name.size() - 1] == ':')
      return &arch;
  return nullptr;
}

std::optional<GpuTarget> gpuTargetNamed(std::string_view name) {
  GpuTarget target{};
  if (take(name, "cuda:sm_"))
    target.kind = GpuTarget::Kind::Cubin;
  else if (take(name, "cuda:compute_"))
    target.kind = GpuTarget::Kind::Ptx;
  else if (take(name, "cuda-emulator:sm_"))
    target.kind = GpuTarget::Kind::Emulator;
  else
    return std::nullopt;
  const char *end = name.data() + name.size();
  auto [rest, failure] = std::from_chars(name.data(), end, target.capability);
  target.specific = rest + 1 == end && *rest == 'a';
  bool whole = rest == end || (target.specific && target.kind != GpuTarget::Kind::Ptx);
  if (failure != std::errc() || !whole || name[0] == '0' || target.capability < 50 ||
      target.capability > 999)
    return std::nullopt;
  return target;
}

bool GpuTarget::runsOn(ComputeCapability gpu) const {
  switch (kind) {
  case Kind::Cubin:
    return specific ? gpu == capability : gpu / 10 == capability / 10 && gpu >= capability;
  case Kind::Ptx:
    return gpu >= capability;
  case Kind::Emulator:
    break;
  }
  return true;
}

std::string targetForGpu(ComputeCapability gpu) {
  std::string found;
  if (gpuTargetNamed(kPtxTarget)->runsOn(gpu))
    found = kPtxTarget;
  for (const GpuArch &arch : kArchitectures) // the last match is the newest
    if (std::string name = "cuda:" + std::string(arch.name); gpuTargetNamed(name)->runsOn(gpu))
      found = name;
  return found;
}

std::string rebuildForGpu(ComputeCapability gpu) {
  const std::string target = targetForGpu(gpu);
  return target.empty() ? "give --device cpu: ingot compiles for GPUs from " +
                              std::string(kArchitectures[0].name) + " on"
                        : "rebuild it for this GPU: ingot compile MODEL -o E --target " + target;
}

std::string capabilityName(ComputeCapability capability) {
  return "sm_" + std::to_string(capability);
}

} // namespace ingot::runtime
