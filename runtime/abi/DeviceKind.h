//===- DeviceKind.h - Kinds of devices that code is made for ----------------===//
#pragma once

#include <cstdint>
#include <string_view>

namespace ingot {

/// An engine has at most one program for each kind. A new kind is a value here, and a row below.
enum class DeviceKind : uint8_t { Cpu, Cuda };

inline constexpr struct {
  DeviceKind kind;
  std::string_view name; ///< in the passes' option `device`, in IR and in reports
} kDeviceKinds[] = {{DeviceKind::Cpu, "cpu"}, {DeviceKind::Cuda, "cuda"}};

constexpr std::string_view deviceKindName(DeviceKind kind) {
  return kDeviceKinds[static_cast<int>(kind)].name;
}

} // namespace ingot
