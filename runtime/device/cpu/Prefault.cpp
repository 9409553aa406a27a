//===- Prefault.cpp - Threads request pieces of whole pages ----------------===//
#include "runtime/device/cpu/Prefault.h"

#include "runtime/device/cpu/HostMemory.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include <sys/mman.h>

namespace ingot::cpu {

namespace {

uintptr_t addressOf(std::span<const std::byte> range) {
  return reinterpret_cast<uintptr_t>(range.data());
}

void ask(std::span<const std::byte> piece) {
  const uintptr_t begin = addressOf(piece) / kPage * kPage;
  const size_t bytes = addressOf(piece) + piece.size() - begin;
  auto *at = reinterpret_cast<void *>(begin);
  // If the system does not support the first call, the other still makes the disk read ahead. For a
  // truncated file both return errors, whereas touching a page would raise a signal.
  if (madvise(at, bytes, MADV_POPULATE_READ) != 0 && errno == EINVAL)
    (void)madvise(at, bytes, MADV_WILLNEED);
}

} // namespace

Prefault::Prefault(std::span<const std::span<const std::byte>> ranges, int count) {
  for (std::span<const std::byte> rest : ranges)
    while (!rest.empty()) { // each piece ends where a huge page would end
      const size_t bytes = std::min(rest.size(), size_t(kHugePage - addressOf(rest) % kHugePage));
      pieces.push_back(rest.first(bytes));
      rest = rest.subspan(bytes);
    }
  count = int(std::min(size_t(count), pieces.size()));
  try {
    for (int i = 0; i < count; ++i)
      threads.emplace_back([this] { work(); });
  } catch (const std::system_error &) { // the threads that did start do all the work
  }
}

Prefault::~Prefault() { next = pieces.size(); }

void Prefault::finish() {
  work();
  threads.clear(); // joins
}

void Prefault::work() {
  for (size_t i = next++; i < pieces.size(); i = next++)
    ask(pieces[i]);
}

} // namespace ingot::cpu
