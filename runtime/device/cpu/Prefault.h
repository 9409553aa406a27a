//===- Prefault.h - Mapped weights, brought before they are asked for ------===//
//
// The first step over a file that is mapped waits for each of its pages: a little while where the
// page cache has it, for the disk where not. Threads of their own go ahead of it, from the file's
// beginning to its end as a step does, so that loading a tokenizer and the first launches pass
// meanwhile, and the disk has several requests at once.
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
  /// Begins on up to `threads` threads; `ranges` are of mapped files that stay so as long as this
  /// lives. What the system does not map ahead (of a file that was cut, or Linux before 5.14) is left
  /// to who reads it.
  Prefault(std::span<const std::span<const std::byte>> ranges, int threads);
  ~Prefault(); ///< waits for pieces under way, no more
  Prefault(const Prefault &) = delete;
  Prefault &operator=(const Prefault &) = delete;

  /// Helps, and returns when all has been asked for.
  void finish();

private:
  void work();

  std::vector<std::span<const std::byte>> pieces;
  std::atomic<size_t> next{0};
  std::vector<std::jthread> threads; ///< last: they end before the pieces
};

} // namespace ingot::cpu
