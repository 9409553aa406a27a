//===- GatherTest.cpp - Embedding rows of every weight format, bit for bit --===//
#include "PanelReference.h"

#include <chrono>
#include <cstdio>

using namespace ingot;
using namespace ingot::codegen::cpu;
using namespace ingot::codegen::cpu::test;

namespace {

class GatherFormats : public testing::TestWithParam<int> {};

TEST_P(GatherFormats, EqualsReference) {
  WeightFormat format = WeightFormat(GetParam());
  for (int64_t width : {512, 612, 97}) {
    int64_t vocabulary = 100, padded = roundUp(width, 32);
    RandomWeight w(format, vocabulary, width, 7);
    std::string weight =
        "!lm.weight<100x" + std::to_string(width) + ", " + std::string(w.format.name) + ">";
    std::string y = "!kernel.activation<" + std::to_string(width) + ", f32>";
    KernelModule module("kernel.func @k(%w: " + weight + ", %y: " + y +
                        ") {\n kernel.gather %w : " + weight + " outs(%y : " + y +
                        ") {scale = 25.25 : f32}\n kernel.return\n }");
    int32_t ids[] = {0, 99, 15, 16, 31, 32, 63, 99, 50};
    int64_t count = std::size(ids);
    BatchView batch{};
    batch.tokens = count, batch.ids = ids;
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      ASSERT_TRUE(code);
      Buffer<float> out(count * padded);
      std::memset(out.data(), 0xff, out.bytes());
      for (int64_t thread = 0; thread < 2; ++thread)
        code.call("k", {w.bytes.data(), out.data()}, batch, thread, count, 2);
      EXPECT_TRUE(out.intact());
      for (int64_t t = 0; t < count; ++t)
        for (int64_t k = 0; k < padded; ++k)
          ASSERT_EQ(out[t * padded + k], k < width ? w.value(ids[t], k) * 25.25f : 0.0f)
              << isa->name << " width " << width << " id " << ids[t] << " at " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GatherFormats, testing::Range(0, kWeightFormatCount),
                         [](const auto &info) {
                           return std::string(numericFormat(WeightFormat(info.param)).name);
                         });

// --gtest_also_run_disabled_tests --gtest_filter=*Speed*
TEST(GatherSpeed, DISABLED_AllFormats) {
  for (int id = 0; id < kWeightFormatCount; ++id) {
    int64_t vocabulary = 4096, width = 2048, count = 512;
    RandomWeight w(WeightFormat(id), vocabulary, width, 7);
    std::string weight = "!lm.weight<4096x2048, " + std::string(w.format.name) + ">";
    KernelModule module(
        "kernel.func @k(%w: " + weight +
        ", %y: !kernel.activation<2048, f32>) {\n kernel.gather %w : " + weight +
        " outs(%y : !kernel.activation<2048, f32>) {scale = 1.0 : f32}\n kernel.return\n }");
    std::vector<int32_t> ids(count);
    for (int64_t t = 0; t < count; ++t)
      ids[t] = int32_t(t * 2654435761u % vocabulary);
    BatchView batch{};
    batch.tokens = count, batch.ids = ids.data();
    Buffer<float> out(count * width);
    void *args[] = {w.bytes.data(), out.data()};
    for (const Isa *isa : hostIsas()) {
      LoadedKernels code(module, *isa);
      double best = 1e9;
      for (int round = 0; round < 10; ++round) {
        auto start = std::chrono::steady_clock::now();
        code["k"](args, &batch, 0, count, 1, nullptr, 0);
        best = std::min(
            best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      }
      std::printf("%-7s gather %-9s %6.2f ns a value\n", std::string(isa->name).c_str(),
                  std::string(w.format.name).c_str(), best * 1e9 / double(count * width));
    }
  }
}

} // namespace
