//===- HostMemory.cpp - mmap, huge pages, /proc/meminfo -------------------===//
#include "runtime/device/cpu/HostMemory.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include <sys/mman.h>
#include <sys/resource.h>

namespace ingot::cpu {

namespace {
uint64_t roundTo(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/// Returns the number in a one-number file; 0 if there is none ("max").
uint64_t numberIn(const std::string &path) {
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
    return Error{ExitCode::File, "E0702", "the system refused to allocate memory for " + what,
                 std::to_string(bytes) + " bytes requested: " + std::strerror(errno),
                 "stop other programs, or lower --context, --max-seqs or --max-batch-tokens"};
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
    madvise(start, whole / kHugePage * kHugePage, MADV_HUGEPAGE); // only a hint; without it
                                                                  // accesses are slower
  }
  memory.start = start;
  memory.bytes = bytes;
  return memory;
}

bool HostMemory::populate(uint64_t from, uint64_t count) const {
  assert(from <= bytes && count <= bytes - from && "a range beyond the memory");
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

/// Returns the minimum of two values, either of which may be 0 for unknown.
uint64_t leastKnown(uint64_t a, uint64_t b) { return a && b ? std::min(a, b) : std::max(a, b); }

/// Returns the number of bytes that is stated in a line like "MemAvailable: 123 kB"; 0 if there is none.
uint64_t bytesIn(const char *path, std::string_view key) {
  std::ifstream info(path);
  for (std::string line; std::getline(info, line);)
    if (line.starts_with(key))
      return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024;
  return 0;
}

/// File names of a cgroup version.
struct GroupFiles {
  const char *mount, *limit, *used, *inactive, *active;
};
constexpr GroupFiles kVersion1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                  "memory.usage_in_bytes", "total_inactive_file",
                                  "total_active_file"};
constexpr GroupFiles kVersion2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file",
                                  "active_file"};

/// Returns the number of bytes that can still be allocated in one cgroup; 0 if it has no limit.
uint64_t leftInGroup(const std::string &folder, const GroupFiles &files) {
  constexpr uint64_t kNoLimit = uint64_t(1) << 62; // how version 1 expresses it
  const uint64_t limit = numberIn(folder + files.limit), used = numberIn(folder + files.used);
  if (limit == 0 || limit >= kNoLimit)
    return 0;
  // Page cache counts as used, but it can be reclaimed.
  std::ifstream stat(folder + "memory.stat");
  std::string key;
  uint64_t cache = 0;
  for (uint64_t value = 0; stat >> key >> value;)
    if (key == files.inactive || key == files.active)
      cache += value;
  const uint64_t left = limit > used ? limit - used : 0;
  return std::max<uint64_t>(1, std::min(limit, left + std::min(cache, used)));
}

/// Returns the number of bytes of address space that can still be mapped under `ulimit -v`; 0 if it is unlimited.
uint64_t leftOfAddresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return 0;
  uint64_t used = numberIn("/proc/self/statm") * kPage;
  return limit.rlim_cur > used ? limit.rlim_cur - used : 1;
}

} // namespace

uint64_t leftInTheGroups(const std::string &root) {
  // "0::/system.slice/ingot.service", "4:memory:/docker/5e1…". A container sees its own group as "/".
  std::ifstream groups(root + "/proc/self/cgroup");
  uint64_t least = 0;
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && (',' + controllers + ',').find(",memory,") == std::string::npos)
      continue;
    const GroupFiles &files = controllers.empty() ? kVersion2 : kVersion1;
    for (std::string path = line.substr(second + 1);; path.erase(path.rfind('/'))) {
      least = leastKnown(least, leftInGroup(root + files.mount + path + '/', files));
      if (path.find('/') == std::string::npos)
        break;
    }
  }
  return least;
}

int lockMemory(std::span<const std::byte> memory) {
  return memory.empty() || mlock2(memory.data(), memory.size(), MLOCK_ONFAULT) == 0 ? 0 : errno;
}

uint64_t lockedMemory() { return bytesIn("/proc/self/status", "VmLck:"); }

uint64_t availableMemory() {
  return leastKnown(bytesIn("/proc/meminfo", "MemAvailable:"),
                    leastKnown(leftInTheGroups(), leftOfAddresses()));
}

} // namespace ingot::cpu
