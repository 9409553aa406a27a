//===- PickCode.h - Which code of an engine a GPU runs ----------------------===//
//
// For a GPU of capability 9.0, best first:
//
//   cuda:sm_90a       made for it alone
//   cuda:sm_90        a cubin of its major version, the newest that is not newer than it
//   cuda:compute_80   PTX, which the driver compiles at load; the user is told
//
// The emulator runs any cuda-emulator code; the newest is taken.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"
#include "runtime/schema/engine_generated.h"

namespace ingot::cuda {

struct PickedCode {
  const fb::Program *program;
  const fb::CodeObject *code;
  std::string remark; ///< for the user; empty if the code was made for this GPU
};

/// `emulated`: take cuda-emulator code. Error E0714, exit 4: nothing fits; it names the GPU and
/// what the engine has.
Result<PickedCode> pickGpuCode(const fb::Engine &engine, const DeviceInfo &device, bool emulated);

} // namespace ingot::cuda
