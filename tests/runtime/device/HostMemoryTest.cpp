//===- HostMemoryTest.cpp - Memory limits; prefaulted and locked pages -----===//
#include "runtime/device/cpu/HostMemory.h"
#include "runtime/device/cpu/Prefault.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::cpu;
namespace fs = std::filesystem;

namespace {

/// /proc and /sys of an invented machine.
struct Machine {
  Machine() { fs::create_directories(root); }
  ~Machine() { fs::remove_all(root); }
  void write(const std::string &path, const std::string &text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  uint64_t left() const { return leftInTheGroups(root.string()); }
  fs::path root = fs::path(testing::TempDir()) / ("machine-" + std::to_string(getpid()));
};

TEST(Groups, LeaveTheLeastOfOneAndThoseAboveIt) {
  Machine machine;
  machine.write("proc/self/cgroup", "0::/system.slice/ingot.service\n");
  EXPECT_EQ(machine.left(), 0u);
  machine.write("sys/fs/cgroup/system.slice/ingot.service/memory.max", "5000\n");
  machine.write("sys/fs/cgroup/system.slice/ingot.service/memory.current", "1000\n");
  EXPECT_EQ(machine.left(), 4000u);
  // Page cache counts as used but can be reclaimed.
  machine.write("sys/fs/cgroup/system.slice/ingot.service/memory.stat",
                "anon 500\nfile 600\ninactive_file 300\nactive_file 200\n");
  EXPECT_EQ(machine.left(), 4500u);
  machine.write("sys/fs/cgroup/system.slice/memory.max", "3000\n");
  machine.write("sys/fs/cgroup/system.slice/memory.current", "2000\n");
  EXPECT_EQ(machine.left(), 1000u);
  machine.write("sys/fs/cgroup/system.slice/memory.current", "3500\n");
  EXPECT_EQ(machine.left(), 1u) << "0 would be: unknown";
  machine.write("sys/fs/cgroup/system.slice/memory.max", "max\n");
  EXPECT_EQ(machine.left(), 4500u);
}

TEST(Groups, AreTheMountsOwnInAContainer) {
  Machine machine;
  machine.write("proc/self/cgroup", "0::/\n");
  machine.write("sys/fs/cgroup/memory.max", "700\n");
  machine.write("sys/fs/cgroup/memory.current", "100\n");
  EXPECT_EQ(machine.left(), 600u);
}

TEST(Groups, OfVersion1HaveNamesOfTheirOwn) {
  Machine machine;
  machine.write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:hugetlb,memory:/docker/5e1\n0::/\n");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); // no limit
  machine.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "70000\n");
  EXPECT_EQ(machine.left(), 0u);
  machine.write("sys/fs/cgroup/memory/docker/5e1/memory.limit_in_bytes", "900\n");
  machine.write("sys/fs/cgroup/memory/docker/5e1/memory.usage_in_bytes", "800\n");
  machine.write("sys/fs/cgroup/memory/docker/5e1/memory.stat",
                "total_inactive_file 50\ntotal_active_file 20\ninactive_file 1\n");
  EXPECT_EQ(machine.left(), 170u);
}

/// A file of several huge pages, mapped.
struct Mapped {
  explicit Mapped(size_t size) : bytes(size) {
    fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    const std::vector<char> block(size, 'x');
    EXPECT_EQ(write(fd, block.data(), size), ssize_t(size));
    base = static_cast<std::byte *>(mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0));
  }
  ~Mapped() {
    munmap(base, bytes);
    close(fd);
    fs::remove(path);
  }
  std::span<const std::byte> span() const { return {base, bytes}; }
  std::string path = testing::TempDir() + "mapped-" + std::to_string(getpid());
  size_t bytes;
  int fd;
  std::byte *base;
};

/// Returns the number of pages of a range that have no entry in this process's page table, so that reading them would
/// fault. The test does not count the faults themselves, since a sanitizer's own memory causes some too.
int64_t missingPages(std::span<const std::byte> mapped) {
  const auto begin = reinterpret_cast<uintptr_t>(mapped.data()) / kPage,
             end = (reinterpret_cast<uintptr_t>(mapped.data()) + mapped.size() + kPage - 1) / kPage;
  std::vector<uint64_t> entries(end - begin);
  const auto size = ssize_t(entries.size() * sizeof(uint64_t));
  const int pagemap = open("/proc/self/pagemap", O_RDONLY); // needs whole-entry reads: no stream
  EXPECT_EQ(pread(pagemap, entries.data(), size_t(size), off_t(begin * sizeof(uint64_t))), size);
  close(pagemap);
  return std::ranges::count_if(entries, [](uint64_t entry) { return !(entry >> 63); });
}

TEST(Prefault, BringsEveryPageOfItsRanges) {
  Mapped file(9 << 20);
  if (madvise(file.base, 4096, MADV_POPULATE_READ) != 0)
    GTEST_SKIP() << "this system has no MADV_POPULATE_READ";
  // Neither range begins or ends on a page boundary.
  const std::array ranges = {file.span().subspan(100, 3 << 20),
                             file.span().subspan((5 << 20) + 5000, (3 << 20) + 77)};
  EXPECT_GT(missingPages(ranges[1]), 0);
  Prefault(ranges, 3).finish();
  for (std::span<const std::byte> range : ranges)
    EXPECT_EQ(missingPages(range), 0);
}

TEST(Prefault, EndsWithoutHavingBroughtAll) {
  Mapped file(8 << 20);
  for (int i = 0; i < 50; ++i)
    Prefault(std::array{file.span()}, 1 + i % 3);
}

TEST(Prefault, OfAFileThatWasCutIsNoSignal) {
  Mapped file(8 << 20);
  ASSERT_EQ(ftruncate(file.fd, 3 << 20), 0);
  Prefault(std::array{file.span()}, 2).finish();
}

TEST(Prefault, OfNothingIsDone) {
  Prefault({}, 2).finish();
  Prefault(std::array{std::span<const std::byte>()}, 2).finish();
}

TEST(Locks, CountWhatIsLocked) {
  auto memory = HostMemory::allocate(64 << 10, "a test", false);
  ASSERT_TRUE(memory);
  const uint64_t before = lockedMemory();
  if (int reason = lockMemory(memory->span()); reason == ENOMEM || reason == EPERM)
    GTEST_SKIP() << "this process may not lock 64 KiB";
  EXPECT_EQ(lockedMemory() - before, uint64_t(64) << 10);
  memory = HostMemory();
  EXPECT_EQ(lockedMemory(), before);
}

} // namespace
