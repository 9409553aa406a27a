//===- HostMemory.cpp - mmap, huge pages, /proc/meminfo -------------------===//
#include "runtime/device/cpu/HostMemory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include <sys/mman.h>
#include <sys/resource.h>

namespace ingot::cpu {

namespace {
constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t(2) << 20;

uint64_t roundTo(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/// The number in a one-number file; 0 if there is none ("max").
uint64_t numberIn(const char *path) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? value : 0;
}
} // namespace

Result<HostMemory> HostMemory::allocate(uint64_t bytes, const std::string &what, bool hugePages) {
  HostMemory memory;
  if (bytes == 0)
    return memory;
  uint64_t whole = roundTo(bytes, kPage);
  bool huge = hugePages && whole >= kHugePage;
  uint64_t taken = whole + (huge ? kHugePage : 0);
  void *base = mmap(nullptr, taken, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return Error{ExitCode::File, "E0702", "the system gives no memory for " + what,
                 std::to_string(bytes) + " bytes asked for: " + std::strerror(errno),
                 "end other programs, or lower --context, --max-seqs or --max-batch-tokens"};
  auto *start = static_cast<std::byte *>(base);
  if (huge) {
    // Cut the surplus off both ends.
    uint64_t address = reinterpret_cast<uint64_t>(base);
    uint64_t head = roundTo(address, kHugePage) - address;
    if (head)
      munmap(start, head);
    if (taken - head - whole)
      munmap(start + head + whole, taken - head - whole);
    start += head;
    madvise(start, whole / kHugePage * kHugePage, MADV_HUGEPAGE); // a wish; slower without
  }
  memory.start = start;
  memory.bytes = bytes;
  return memory;
}

bool HostMemory::populate(uint64_t from, uint64_t count) const {
  const uint64_t first = from / kPage * kPage, end = roundTo(from + count, kPage);
  return madvise(start + first, end - first, MADV_POPULATE_WRITE) == 0;
}

HostMemory::HostMemory(HostMemory &&other) noexcept
    : start(std::exchange(other.start, nullptr)), bytes(std::exchange(other.bytes, 0)) {}

HostMemory &HostMemory::operator=(HostMemory &&other) noexcept {
  std::swap(start, other.start);
  std::swap(bytes, other.bytes);
  return *this;
}

HostMemory::~HostMemory() {
  if (start)
    munmap(start, roundTo(bytes, kPage));
}

namespace {

/// The system's own estimate; 0: unknown, as below.
uint64_t leftOnTheMachine() {
  std::ifstream info("/proc/meminfo");
  std::string key, unit;
  for (uint64_t value = 0; info >> key >> value;) {
    if (key == "MemAvailable:")
      return value * 1024;
    std::getline(info, unit);
  }
  return 0;
}

/// What the cgroup leaves.
uint64_t leftInTheGroup() {
  uint64_t limit = numberIn("/sys/fs/cgroup/memory.max");
  uint64_t used = numberIn("/sys/fs/cgroup/memory.current");
  if (limit == 0)
    return 0;
  // Page cache counts as used but gives way.
  std::ifstream stat("/sys/fs/cgroup/memory.stat");
  std::string key;
  uint64_t cache = 0;
  for (uint64_t value = 0; stat >> key >> value;)
    if (key == "inactive_file" || key == "active_file")
      cache += value;
  uint64_t left = limit > used ? limit - used : 0;
  return std::max<uint64_t>(1,
                            std::min(limit, left + std::min(cache, used))); // 0 would say: unknown
}

/// What `ulimit -v` leaves of the address space.
uint64_t leftOfAddresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return 0;
  uint64_t used = numberIn("/proc/self/statm") * kPage;
  return limit.rlim_cur > used ? limit.rlim_cur - used : 1;
}

} // namespace

uint64_t availableMemory() {
  uint64_t available = 0;
  for (uint64_t left : {leftOnTheMachine(), leftInTheGroup(), leftOfAddresses()})
    if (left)
      available = available ? std::min(available, left) : left;
  return available;
}

} // namespace ingot::cpu
