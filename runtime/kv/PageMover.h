//===- PageMover.h - Copies KV pages on the device and to the host ---------===//
//
// The owner of the pages' memory implements this interface. A page of a group comprises the page of that
// number in the pool of every KV slot of the group (KernelAbi.h); all of it is moved together. If an engine
// has fixed states, the slots of their snapshots (StateSnapshots.h) are saved and loaded as pages of one
// additional group. Calls take effect in order, between the preceding and the following step: a device with
// a queue enqueues them. They do not fail; the next step reports an error of the device.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot::runtime {

class PageMover {
public:
  virtual ~PageMover() = default;

  /// Returns the size in bytes of one page of the group, summed over its KV slots.
  virtual uint64_t pageBytes(size_t group) const = 0;
  virtual void copy(size_t group, int32_t from, int32_t to) = 0;
  /// `to` and `from` point to pageBytes() bytes of host memory.
  virtual void save(size_t group, int32_t page, std::byte *to) = 0;
  virtual void load(size_t group, const std::byte *from, int32_t page) = 0;
};

} // namespace ingot::runtime
