//===- WeightUploadTest.cpp - Staging pieces filled by several threads ----------===//
#include "runtime/device/cuda/WeightUpload.h"
#include "runtime/device/cuda/LibcudaDriver.h"
#include "tests/runtime/device/cuda/FakeGpuProgram.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace ingot;
using namespace ingot::cuda;
using namespace ingot::test;

namespace {

class CudaUpload : public testing::Test {
protected:
  void SetUp() override {
    auto opened = openLibcuda({fakeLibcuda(), 0});
    ASSERT_TRUE(opened);
    driver = std::move(*opened);
    bytes.resize(9 * runtime::kUploadPiece / 4 + 3);
    std::iota(bytes.begin(), bytes.end(), 0u);
  }
  FakeCuda &fake = freshFakeCuda();
  std::unique_ptr<Driver> driver;
  std::vector<uint32_t> bytes; ///< more than all pieces hold
};

TEST_F(CudaUpload, EveryByteArrives) {
  const auto all = std::as_bytes(std::span(bytes));
  constexpr uint64_t kPiece = runtime::kUploadPiece;
  const std::span<const std::byte> sizes[] = {all.first(0), all.first(1), all.first(kPiece),
                                              all.subspan(7, kPiece + 1), all};
  for (int threads : {1, 64}) {
    auto upload = WeightUpload::create(*driver);
    ASSERT_TRUE(upload);
    std::vector<DeviceMemory> there;
    std::vector<WeightUpload::Part> parts;
    for (std::span<const std::byte> part : sizes) {
      auto memory = DeviceMemory::allocate(*driver, part.size() + 1, "a test");
      ASSERT_TRUE(memory);
      there.push_back(std::move(*memory));
      parts.push_back({part, there.back().address()});
    }
    // The upload runs twice, with pieces filled by hand in between. It must wait for copies in flight.
    for (int round = 0; round < 2; ++round) {
      auto sent = upload->send(parts, threads);
      ASSERT_TRUE(sent) << sent.error().format();
      for (const auto &[part, to] : parts) // device memory is host memory here
        EXPECT_EQ(std::memcmp(reinterpret_cast<const void *>(to), part.data(), part.size()), 0);
      for (uint64_t piece = 0; piece < 2 * runtime::kUploadPieces + 1; ++piece) {
        auto memory = upload->next();
        ASSERT_TRUE(memory);
        EXPECT_EQ(memory->size(), kPiece);
        std::memset(memory->data(), int(piece + 1), 16);
        ASSERT_TRUE(upload->sendNext(16, parts.back().to + 16 * piece));
      }
    }
    ASSERT_TRUE(driver->wait());
    EXPECT_EQ(reinterpret_cast<const char *>(parts.back().to)[16 * 16], 17);
  }
  EXPECT_EQ(fake.torn, 0);
  EXPECT_EQ(fake.freedUnderCopies, 0);
  EXPECT_EQ(fake.pinned, 0);
  EXPECT_EQ(fake.timedEvents, 0);
}

TEST_F(CudaUpload, CopiesThatFailEndIt) {
  auto memory = DeviceMemory::allocate(*driver, bytes.size() * sizeof bytes[0], "a test");
  ASSERT_TRUE(memory);
  const WeightUpload::Part part{std::as_bytes(std::span(bytes)), memory->address()};
  for (const char *call : {"cuMemcpyHtoDAsync", "cuEventRecord", "cuEventSynchronize"})
    for (int after : {0, 5}) {
      auto upload = WeightUpload::create(*driver);
      ASSERT_TRUE(upload);
      fake.failCall = call;
      fake.failAfter = after;
      auto sent = upload->send({&part, 1}, 4);
      ASSERT_FALSE(sent) << call;
      EXPECT_NE(sent.error().why.find(call), std::string::npos) << sent.error().why;
      fake.failCall = nullptr;
      ASSERT_TRUE(driver->wait());
    }
  EXPECT_EQ(fake.torn, 0);
  EXPECT_EQ(fake.freedUnderCopies, 0);
}

} // namespace
