//===- DeviceMemory.h - RAII owners of a driver's memory ---------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"

#include <utility>

namespace ingot::cuda {

/// Device memory; empty if `bytes` is 0. The driver must outlive it.
class DeviceMemory {
public:
  DeviceMemory() = default;
  static Result<DeviceMemory> allocate(Driver &driver, uint64_t bytes, const std::string &what) {
    DeviceMemory memory;
    if (bytes == 0)
      return memory;
    auto address = driver.allocate(bytes, what);
    if (!address)
      return address.error();
    memory.driver = &driver;
    memory.start = *address;
    memory.bytes = bytes;
    return memory;
  }
  DeviceMemory(DeviceMemory &&other) noexcept { *this = std::move(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(driver, other.driver);
    std::swap(start, other.start);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~DeviceMemory() {
    if (start)
      driver->release(start);
  }

  Address address() const { return start; }
  uint64_t size() const { return bytes; }

private:
  Driver *driver = nullptr;
  Address start = 0;
  uint64_t bytes = 0;
};

/// Page-locked host memory. The driver must outlive it.
class PinnedMemory {
public:
  PinnedMemory() = default;
  static Result<PinnedMemory> allocate(Driver &driver, uint64_t bytes) {
    PinnedMemory memory;
    auto start = driver.allocateHost(bytes);
    if (!start)
      return start.error();
    memory.driver = &driver;
    memory.start = *start;
    memory.bytes = bytes;
    return memory;
  }
  PinnedMemory(PinnedMemory &&other) noexcept { *this = std::move(other); }
  PinnedMemory &operator=(PinnedMemory &&other) noexcept {
    std::swap(driver, other.driver);
    std::swap(start, other.start);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~PinnedMemory() {
    if (start)
      driver->releaseHost(start);
  }
  /// Gives up ownership without releasing the memory: a copy may still write to it.
  void leave() { start = nullptr; }

  std::byte *data() const { return start; }
  uint64_t size() const { return bytes; }

private:
  Driver *driver = nullptr;
  std::byte *start = nullptr;
  uint64_t bytes = 0;
};

} // namespace ingot::cuda
