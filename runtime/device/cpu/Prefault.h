//===- Prefault.h - Brings in mapped weights before they are needed --------===//
//
// The first step over a mapped file waits for each of its pages: briefly if the page cache has the
// page, otherwise for the disk. Dedicated threads run ahead of the step, from the beginning of the
// file to its end as the step does, so this overlaps with loading the tokenizer and with the first
// launches, and the disk gets several requests at once.
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

namespace ingot::cpu {

class Prefault {
public:
  /// Starts up to `threads` threads, which request the pages of `ranges`. The ranges are parts of mapped
  /// files and must stay mapped as long as this object lives. If the system does not map a page ahead
  /// (of a truncated file, or with Linux before 5.14), its first reader faults it in.
  Prefault(std::span<const std::span<const std::byte>> ranges, int threads);
  ~Prefault(); ///< waits only for pieces in progress
  Prefault(const Prefault &) = delete;
  Prefault &operator=(const Prefault &) = delete;

  /// Helps with the work, and returns when all pages have been requested.
  void finish();

private:
  void work();

  std::vector<std::span<const std::byte>> pieces;
  std::atomic<size_t> next{0};
  std::vector<std::jthread> threads; ///< last: they must end before `pieces` is destroyed
};

} // namespace ingot::cpu
