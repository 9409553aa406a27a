//===- DeviceTest.cpp - Memory, launches and limits of the emulated device -----===//
#include "KernelSession.h"

namespace ingot::emulator {
namespace {

void nothing(void *const *) {}

std::unique_ptr<Device> makeDevice(int arch = 90) {
  return std::unique_ptr<Device>(ingotCreateCudaEmulator({.arch = arch}));
}

Launch empty() {
  Launch launch;
  launch.name = "nothing";
  launch.entry = nothing;
  launch.arguments = nullptr;
  return launch;
}

std::string refusal(Device &device, const Launch &launch) {
  auto result = device.launch(launch);
  EXPECT_FALSE(bool(result));
  return result ? "" : result.error().code + " " + result.error().why;
}

TEST(DeviceLimits, OfABlock) {
  auto device = makeDevice();
  Launch launch = empty();
  launch.block = {1024};
  EXPECT_TRUE(bool(device->launch(launch)));
  launch.block = {1025};
  EXPECT_EQ(refusal(*device, launch), "E0721 threads of a block: 1025, the limit is 1024");
  launch.block = {4, 4, 65};
  EXPECT_NE(refusal(*device, launch).find("threads of a block: 1040"), std::string::npos);
  launch.block = {0};
  EXPECT_NE(refusal(*device, launch).find("is 0"), std::string::npos);
}

TEST(DeviceLimits, OfSharedMemory) {
  Launch launch = empty();
  launch.dynamicShared = 227 * 1024;
  EXPECT_TRUE(bool(makeDevice(90)->launch(launch)));
  EXPECT_EQ(refusal(*makeDevice(80), launch),
            "E0721 bytes of dynamic shared memory: 232448, the limit is 166912");
  launch.dynamicShared++;
  EXPECT_EQ(refusal(*makeDevice(90), launch),
            "E0721 bytes of dynamic shared memory: 232449, the limit is 232448");
}

TEST(DeviceLimits, OfAGrid) {
  auto device = makeDevice();
  Launch launch = empty();
  launch.grid = {1, 65536};
  EXPECT_NE(refusal(*device, launch).find("65535"), std::string::npos);
  launch.grid = {3};
  launch.cluster = {2};
  EXPECT_NE(refusal(*device, launch).find("does not divide"), std::string::npos);
  launch.grid = {16};
  launch.cluster = {16};
  EXPECT_NE(refusal(*device, launch).find("blocks of a cluster: 16"), std::string::npos);
  EXPECT_NE(refusal(*makeDevice(80), launch).find("no clusters"), std::string::npos);
}

TEST(DeviceLimits, OfAResidentLaunch) {
  auto device = makeDevice();
  Launch launch = empty();
  launch.resident = true;
  launch.block = {64};
  launch.dynamicShared = 113 * 1024; // two blocks per multiprocessor
  launch.grid = {264};
  EXPECT_TRUE(bool(device->launch(launch)));
  launch.grid = {265};
  EXPECT_EQ(refusal(*device, launch), "E0721 blocks of a resident launch: 265, the limit is 264");
}

TEST(Device, FindingsAreReportedOnceAndForgotten) {
  KernelSession s("gemv", "bug14");
  auto *w = s.make<uint8_t>(1536 * 4, "w", true);
  auto *x = s.put(std::vector<float>(1536, 1), "x"),
       *gamma = s.put(std::vector<float>(1536, 1), "gamma", true), *y = s.make<float>(4, "y");
  for (int i = 0; i < 2; i++) {
    auto result = s.launch("gemv_1536", {.block = {128}}, y, w, x, gamma, 2u);
    ASSERT_FALSE(bool(result));
    EXPECT_EQ(result.error().code, "E0722");
    EXPECT_NE(result.error().why.find("write to constant buffer"), std::string::npos);
  }
  ASSERT_EQ(s.device->findings().size(), 1u);
  EXPECT_EQ(s.device->findings()[0].kernel, "gemv_1536");
  s.device->clearFindings();
  EXPECT_TRUE(s.device->findings().empty());
}

TEST(Device, MatrixWordsWantWholeWarps) {
  KernelSession s("layouts", "fast");
  auto *p = s.make<uint8_t>(4096, "p");
  auto result = s.launch("layout_bf16", {.block = {24}}, p, p, p);
  ASSERT_FALSE(bool(result));
  EXPECT_NE(result.error().why.find("fewer than 32 threads"), std::string::npos);
}

/// A programmatic launch may read early only what was written by launches before the last full one.
TEST(Device, DependencyWaitCoversWhatIsPending) {
  KernelSession s("gemv", "bug1");
  auto *w = s.make<uint8_t>(1536 * 4, "w", true);
  auto *x = s.put(std::vector<float>(1536, 1), "x"),
       *gamma = s.put(std::vector<float>(1536, 1), "gamma", true), *y = s.make<float>(4, "y");
  auto run = [&] {
    return bool(s.launch("gemv_1536", {.block = {128}, .pdl = true}, y, w, x, gamma, 2u));
  };
  EXPECT_TRUE(run()) << "x came from the host";
  EXPECT_LAUNCHED(s.launch("negate", {.grid = {12}, .block = {128}, .pdl = true}, x, 1536u));
  EXPECT_FALSE(run()) << "x is an earlier launch's result";
  s.device->clearFindings();
  s.device->synchronize();
  EXPECT_TRUE(run()) << "that launch has ended";
}

TEST(Device, TensorMapRules) {
  auto device = makeDevice();
  struct alignas(64) Map {
    uint8_t bytes[128];
  } map;
  alignas(16) static uint16_t data[64 * 64];
  const TensorMatrix good{data, 2, 64, 64, 128, 64, 64, true};
  EXPECT_TRUE(bool(device->encodeTensorMap(&map, good)));
  auto refused = [&](auto change) {
    TensorMatrix m = good;
    change(m);
    return !device->encodeTensorMap(&map, m);
  };
  EXPECT_TRUE(refused([](TensorMatrix &m) { m.base = data + 1; }));
  EXPECT_TRUE(refused([](TensorMatrix &m) { m.elementBytes = 3; }));
  EXPECT_TRUE(refused([](TensorMatrix &m) { m.rowBytes = 120; }));
  EXPECT_TRUE(refused([](TensorMatrix &m) { m.rowBytes = 112; }));
  EXPECT_TRUE(refused([](TensorMatrix &m) { m.boxRows = 257; }));
  EXPECT_TRUE(refused([](TensorMatrix &m) { m.boxColumns = 4; }));
  EXPECT_TRUE(refused([](TensorMatrix &m) { m.boxColumns = 72; })) << "wider than the swizzle";
  EXPECT_TRUE(refused([](TensorMatrix &m) { m.rows = 0; }));
}

TEST(Device, AllocationThatCannotBe) {
  auto device = makeDevice();
  auto result = device->allocate(size_t(1) << 60, "everything");
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(result.error().code, "E0720");
}

} // namespace
} // namespace ingot::emulator
