//===- PageMover.h - Copies of KV pages, on the device and to the host -----===//
//
// What is asked of whoever owns the pages' memory. A page of a group is its part of the pool of
// every KV slot of the group (KernelAbi.h), moved as a whole. Where an engine has fixed states, the
// slots of their versions (StateVersions.h) are saved and loaded as pages of one more group. Calls take effect in order,
// between the steps before and after: a device with a queue puts them into it. They do not fail;
// a device that does reports it with the next step.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot::runtime {

class PageMover {
public:
  virtual ~PageMover() = default;

  /// Bytes of one page of the group, over all its slots.
  virtual uint64_t pageBytes(size_t group) const = 0;
  virtual void copy(size_t group, int32_t from, int32_t to) = 0;
  /// `to`, `from`: pageBytes() of host memory, which stays where it is.
  virtual void save(size_t group, int32_t page, std::byte *to) = 0;
  virtual void load(size_t group, const std::byte *from, int32_t page) = 0;
};

} // namespace ingot::runtime
