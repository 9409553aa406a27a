//===- PickCode.cpp - See PickCode.h ----------------------------------------===//
#include "runtime/device/cuda/PickCode.h"

#include "runtime/engine/Program.h"

#include <tuple>

namespace ingot::cuda {

using runtime::GpuTarget;

/// A larger rank is better.
static std::tuple<bool, bool, int> rank(const GpuTarget &target) {
  return {target.kind != GpuTarget::Kind::Ptx, target.specific, target.capability};
}

Result<PickedCode> pickGpuCode(const fb::Engine &engine, const DeviceInfo &device, bool emulated) {
  PickedCode best{};
  std::optional<GpuTarget> bestTarget;
  std::string there;
  for (const fb::Program *program : *engine.programs())
    for (const fb::CodeObject *code : *program->code()) {
      there += (there.empty() ? "" : ", ") + code->target()->str();
      std::optional<GpuTarget> target = runtime::gpuTargetNamed(code->target()->string_view());
      if (!target || (target->kind == GpuTarget::Kind::Emulator) != emulated ||
          !target->runsOn(device.capability) || (bestTarget && rank(*bestTarget) >= rank(*target)))
        continue;
      best = {program, code, ""};
      bestTarget = target;
    }
  std::string own = runtime::capabilityName(device.capability);
  if (!bestTarget)
    return Error{ExitCode::Device, "E0714",
                 emulated ? "the engine has no code for the emulator"
                          : "the engine has no code for this GPU",
                 (emulated ? "" : device.name + " is " + own + "; ") + ("built for " + there),
                 emulated ? "rebuild it: ingot compile MODEL -o E --target cuda-emulator:sm_90a"
                          : runtime::rebuildForGpu(device.capability)};
  if (bestTarget->kind == GpuTarget::Kind::Ptx) {
    best.remark = "the engine has no code for " + device.name + " (" + own +
                  "): the driver is compiling its " + best.code->target()->str().substr(5) + " now";
    if (std::string faster = runtime::targetForGpu(device.capability);
        faster != runtime::kPtxTarget)
      best.remark += "; --target " + faster + " would be faster";
  }
  return best;
}

} // namespace ingot::cuda
