//===- LibcudaDriverTest.cpp - The driver API and the failures of its calls ---===//
#include "runtime/device/cuda/LibcudaDriver.h"
#include "tests/runtime/device/cuda/FakeGpuProgram.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::cuda;
using namespace ingot::test;

namespace {

Result<std::unique_ptr<Driver>> open() { return openLibcuda({fakeLibcuda(), 0}); }

void expectError(const Error &error, const char *code, const char *part) {
  EXPECT_EQ(error.exit, ExitCode::Device);
  std::string text = error.format();
  EXPECT_EQ(error.code, code) << text;
  EXPECT_NE(text.find(part), text.npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
}

TEST(LibcudaDriver, SaysWhatTheGpuIs) {
  FakeCuda &fake = freshFakeCuda();
  fake.major = 12;
  fake.minor = 1;
  {
    auto driver = open();
    ASSERT_TRUE(driver) << driver.error().format();
    const DeviceInfo &info = (*driver)->device();
    EXPECT_EQ(info.name, "Fake GPU");
    EXPECT_EQ(info.capability, 121);
    EXPECT_EQ(info.driverVersion, 13000);
    EXPECT_EQ(info.totalMemory, uint64_t(1) << 30);
    EXPECT_EQ(info.reserved, uint64_t(128) << 20);
    EXPECT_EQ(info.processors, 4u);
    EXPECT_EQ(info.sharedPerBlock, 100000u);
  }
  EXPECT_EQ(fake.contexts, 0);
  EXPECT_EQ(fake.streams, 0);
}

TEST(LibcudaDriver, LeavesMemoryToTheDriver) {
  constexpr uint64_t kMiB = 1 << 20;
  EXPECT_EQ(reservedOf(143'000 * kMiB), 1430 * kMiB) << "one of a hundred";
  EXPECT_EQ(reservedOf(24'000 * kMiB), 512 * kMiB);
  EXPECT_EQ(reservedOf(2'000 * kMiB), 250 * kMiB) << "an eighth of a small one";
}

TEST(LibcudaDriver, NoLibrary) {
  auto driver = openLibcuda({"/nowhere/libcuda.so.1", 0});
  ASSERT_FALSE(driver);
  expectError(driver.error(), "E0710", "/nowhere/libcuda.so.1");
}

TEST(LibcudaDriver, LibraryWithoutItsFunctions) {
  auto driver = openLibcuda({"libm.so.6", 0});
  ASSERT_FALSE(driver);
  expectError(driver.error(), "E0711", "libm.so.6 has no cuInit");
}

TEST(LibcudaDriver, OldDriver) {
  freshFakeCuda().version = 12080;
  auto driver = open();
  ASSERT_FALSE(driver);
  expectError(driver.error(), "E0711", "it supports CUDA 12.8, this ingot's kernels need 13.0");
}

TEST(LibcudaDriver, NoGpu) {
  freshFakeCuda().devices = -1;
  auto driver = open();
  ASSERT_FALSE(driver);
  expectError(driver.error(), "E0712", "there is no NVIDIA GPU");
  freshFakeCuda();
  auto second = openLibcuda({fakeLibcuda(), 1});
  ASSERT_FALSE(second);
  expectError(second.error(), "E0712", "there are 1");
}

TEST(LibcudaDriver, DriverThatDoesNotStart) {
  FakeCuda &fake = freshFakeCuda();
  fake.failCall = "cuInit";
  fake.failCode = 803;
  auto driver = open();
  ASSERT_FALSE(driver);
  expectError(driver.error(), "E0713", "driver and library differ");
}

/// Whichever call fails, the error names it and nothing leaks.
TEST(LibcudaDriver, EveryCallOfOpeningCanFail) {
  for (const char *call :
       {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute",
        "cuDeviceTotalMem", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamCreate"}) {
    FakeCuda &fake = freshFakeCuda();
    fake.failCall = call;
    auto driver = open();
    ASSERT_FALSE(driver) << call;
    expectError(driver.error(), "E0718", call);
    EXPECT_EQ(fake.streams, 0) << call;
    EXPECT_EQ(fake.contexts, 0) << call;
  }
}

TEST(LibcudaDriver, MemoryThatIsNotThere) {
  FakeCuda &fake = freshFakeCuda();
  fake.memory = 1 << 20;
  auto driver = open();
  ASSERT_TRUE(driver);
  auto memory = (*driver)->allocate(2 << 20, "KV pages");
  ASSERT_FALSE(memory);
  expectError(memory.error(), "E0716", "KV pages");
  expectError(memory.error(), "E0716", "2.0 MiB: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  fake.failCall = "cuMemAllocHost";
  auto pinned = (*driver)->allocateHost(100);
  ASSERT_FALSE(pinned);
  expectError(pinned.error(), "E0716", "page-locked");
}

TEST(LibcudaDriver, CodeThatDoesNotLoad) {
  FakeCuda &fake = freshFakeCuda();
  auto driver = open();
  ASSERT_TRUE(driver);
  fake.failCall = "cuModuleLoadDataEx";
  fake.failCode = 218;
  std::string image = "bytes";
  auto module = (*driver)->load(std::as_bytes(std::span(image)), "model.ingot");
  ASSERT_FALSE(module);
  expectError(module.error(), "E0717", "cannot load the code of model.ingot");
  expectError(module.error(), "E0717", "; ptxas fatal: what the test asked for");
  expectError(module.error(), "E0717", "--target cuda:sm_90a");
}

TEST(LibcudaDriver, DescribesRowsToTheCopyEngine) {
  FakeCuda &fake = freshFakeCuda();
  auto driver = open();
  ASSERT_TRUE(driver);
  const TensorRows rows{0x1000, /*bf16=*/true, 576, 2048, 64, 128, /*swizzle=*/true};
  auto map = (*driver)->describe(rows);
  ASSERT_TRUE(map) << map.error().format();
  FakeTensorMap seen;
  std::memcpy(&seen, &*map, sizeof seen);
  EXPECT_EQ(seen.base, 0x1000u);
  EXPECT_EQ(seen.columns, 576u);
  EXPECT_EQ(seen.rows, 2048u);
  EXPECT_EQ(seen.rowBytes, 1152u);
  EXPECT_EQ(seen.elementBytes, 2u);
  EXPECT_EQ(seen.boxColumns, 64u);
  EXPECT_EQ(seen.boxRows, 128u);
  EXPECT_EQ(seen.swizzle, 1u);
  TensorRows odd = rows;
  odd.base = 0x1008;
  auto refused = (*driver)->describe(odd);
  ASSERT_FALSE(refused);
  expectError(refused.error(), "E0724", "2048 rows of 1152 bytes in boxes of 128 by 64");
  fake.failCall = "cuTensorMapEncodeTiled";
  refused = (*driver)->describe(rows);
  ASSERT_FALSE(refused);
  expectError(refused.error(), "E0724", "cuTensorMapEncodeTiled: CUDA_ERROR_FAKE (999)");
}

TEST(LibcudaDriver, CopiesGoBothWaysAndFailWithTheirNames) {
  FakeCuda &fake = freshFakeCuda();
  auto driver = open();
  ASSERT_TRUE(driver);
  auto memory = (*driver)->allocate(64, "a test");
  ASSERT_TRUE(memory);
  int there[16] = {1, 2, 3}, back[16] = {};
  EXPECT_TRUE((*driver)->copyToDevice(*memory, there, sizeof there));
  EXPECT_TRUE((*driver)->copyToHost(back, *memory, sizeof back));
  EXPECT_TRUE((*driver)->wait());
  EXPECT_EQ(back[2], 3);
  EXPECT_TRUE((*driver)->clear(*memory, 8));
  EXPECT_TRUE((*driver)->copyToHost(back, *memory, sizeof back));
  EXPECT_TRUE((*driver)->wait());
  EXPECT_EQ(back[0], 0);
  EXPECT_EQ(back[2], 3);
  struct {
    const char *call;
    std::function<Result<void>()> act;
  } const cases[] = {
      {"cuMemcpyHtoDAsync", [&] { return (*driver)->copyToDevice(*memory, there, 4); }},
      {"cuMemcpyDtoHAsync", [&] { return (*driver)->copyToHost(back, *memory, 4); }},
      {"cuMemsetD8Async", [&] { return (*driver)->clear(*memory, 4); }},
      {"cuStreamSynchronize", [&] { return (*driver)->wait(); }},
  };
  for (const auto &[call, act] : cases) {
    fake.failCall = call;
    auto result = act();
    ASSERT_FALSE(result) << call;
    expectError(result.error(), "E0718", call);
  }
  (*driver)->release(*memory);
  EXPECT_EQ(fake.allocations, 0);
}

} // namespace
