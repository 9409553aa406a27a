//===- LazyArray.h - Zeroed memory that is allocated on first use ----------===//
#pragma once

#include <cstddef>
#include <cstdlib>
#include <sys/mman.h>
#include <utility>

namespace ingot::emulator {

/// For shadow memory and stacks, which are reserved for the largest block and mostly never touched: with
/// vectors, 132 resident blocks took two seconds to start.
template <class T> class LazyArray {
public:
  LazyArray() = default;
  explicit LazyArray(size_t count) : count(count) {
    void *p = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
      abort(); // reserves address space, not memory: only a bug exhausts it
    start = static_cast<T *>(p);
  }
  LazyArray(LazyArray &&other) noexcept
      : start(std::exchange(other.start, nullptr)), count(std::exchange(other.count, 0)) {}
  LazyArray &operator=(LazyArray &&other) noexcept {
    std::swap(start, other.start);
    std::swap(count, other.count);
    return *this;
  }
  ~LazyArray() {
    if (start)
      munmap(start, bytes());
  }

  T *data() const { return start; }
  size_t size() const { return count; }
  T &operator[](size_t i) const { return start[i]; }

private:
  size_t bytes() const { return count * sizeof(T) + 1; }
  T *start = nullptr;
  size_t count = 0;
};

} // namespace ingot::emulator
