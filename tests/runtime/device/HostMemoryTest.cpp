//===- HostMemoryTest.cpp - What limits leave -------------------------------===//
#include "runtime/device/cpu/HostMemory.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::cpu;
namespace fs = std::filesystem;

namespace {

/// /proc and /sys of a machine that somebody made up.
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
  // Page cache counts as used, but gives way.
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
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); // none
  machine.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "70000\n");
  EXPECT_EQ(machine.left(), 0u);
  machine.write("sys/fs/cgroup/memory/docker/5e1/memory.limit_in_bytes", "900\n");
  machine.write("sys/fs/cgroup/memory/docker/5e1/memory.usage_in_bytes", "800\n");
  machine.write("sys/fs/cgroup/memory/docker/5e1/memory.stat",
                "total_inactive_file 50\ntotal_active_file 20\ninactive_file 1\n");
  EXPECT_EQ(machine.left(), 170u);
}

} // namespace
