//===- PickCode.h - Picks the code of an engine for a GPU -------------------===//
//
// For a GPU of capability 9.0, best first:
//
//   cuda:sm_90a       compiled for exactly this GPU
//   cuda:sm_90        the newest cubin of the GPU's major version that is not newer than the GPU
//   cuda:compute_80   PTX, which the driver compiles at load; the user is notified
//
// The emulator runs any cuda-emulator code; the newest is picked.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"
#include "runtime/schema/engine_generated.h"

namespace ingot::cuda {

struct PickedCode {
  const fb::Program *program;
  const fb::CodeObject *code;
  std::string remark; ///< for the user; empty if the code was compiled for this GPU
};

/// Picks the code. `emulated`: pick cuda-emulator code. Error E0714, exit code 4: no code fits; the
/// message names the GPU and the targets that the engine has.
Result<PickedCode> pickGpuCode(const fb::Engine &engine, const DeviceInfo &device, bool emulated);

} // namespace ingot::cuda
