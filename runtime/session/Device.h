//===- Device.h - The devices that a session runs on ------------------------===//
#pragma once

#include "runtime/abi/DeviceKind.h"
#include "runtime/error/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::runtime {

class EngineFile;
class Executor;
struct MemoryLimits;
struct SessionOptions;

/// A new device is a value here and a row in Device.cpp.
enum class Device : uint8_t { Cpu, Cuda, CudaEmulator };

/// The device of that name: "cuda-emulator".
std::optional<Device> deviceNamed(std::string_view name);
/// "cpu, cuda or cuda-emulator".
std::string deviceNames();
/// The kind of the programs that it runs.
DeviceKind kindOf(Device device);

/// Loads the engine on the device. Chooses the limits that the user did not set. Errors: those of the
/// device's executor.
Result<std::unique_ptr<Executor>> openExecutor(Device device, std::shared_ptr<EngineFile> file,
                                               const SessionOptions &options, MemoryLimits &limits);

} // namespace ingot::runtime
