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

/// A new device needs a value here and a row in Device.cpp.
enum class Device : uint8_t { Cpu, Cuda, CudaEmulator };

/// Returns the device of that name, such as "cuda-emulator".
std::optional<Device> deviceNamed(std::string_view name);
/// Returns the list of names: "cpu, cuda or cuda-emulator".
std::string deviceNames();
/// Returns the kind of programs that the device runs.
DeviceKind kindOf(Device device);

/// Loads the engine on the device, and chooses the limits that the user did not set. Errors: all errors of the device's
/// executor.
Result<std::unique_ptr<Executor>> openExecutor(Device device, std::shared_ptr<EngineFile> file,
                                               const SessionOptions &options, MemoryLimits &limits);

} // namespace ingot::runtime
