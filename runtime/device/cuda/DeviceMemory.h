//===- DeviceMemory.h - RAII owners of a driver's memory ---------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"

#include <utility>

namespace ingot::cuda {

/// Owner of memory that a driver allocated and `Release` frees. The driver must outlive it.
template <typename Place, void (Driver::*Release)(Place)> class DriverMemory {
public:
  DriverMemory() = default;
  DriverMemory(DriverMemory &&other) noexcept { *this = std::move(other); }
  DriverMemory &operator=(DriverMemory &&other) noexcept {
    std::swap(driver, other.driver);
    std::swap(start, other.start);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~DriverMemory() {
    if (start)
      (driver->*Release)(start);
  }

  uint64_t size() const { return bytes; }

protected:
  void own(Driver &of, Place place, uint64_t size) { driver = &of, start = place, bytes = size; }

  Driver *driver = nullptr;
  Place start{};
  uint64_t bytes = 0;
};

/// Device memory; empty if `bytes` is 0.
class DeviceMemory : public DriverMemory<Address, &Driver::release> {
public:
  static Result<DeviceMemory> allocate(Driver &driver, uint64_t bytes, const std::string &what) {
    DeviceMemory memory;
    if (bytes == 0)
      return memory;
    auto address = driver.allocate(bytes, what);
    if (!address)
      return address.error();
    memory.own(driver, *address, bytes);
    return memory;
  }
  Address address() const { return start; }
};

/// Page-locked host memory.
class PinnedMemory : public DriverMemory<std::byte *, &Driver::releaseHost> {
public:
  static Result<PinnedMemory> allocate(Driver &driver, uint64_t bytes) {
    PinnedMemory memory;
    auto start = driver.allocateHost(bytes);
    if (!start)
      return start.error();
    memory.own(driver, *start, bytes);
    return memory;
  }
  /// Gives up ownership without releasing the memory, which a copy may still read or write.
  void leave() { start = nullptr; }
  std::byte *data() const { return start; }
};

} // namespace ingot::cuda
