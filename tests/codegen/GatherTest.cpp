//===- GatherTest.cpp - Embedding rows of every weight format, bit for bit --===//
#include "PanelReference.h"

using namespace ingot;
using namespace ingot::cpu;
using namespace ingot::cpu::test;

namespace {

class GatherFormats : public testing::TestWithParam<int> {};

TEST_P(GatherFormats, EqualsReference) {
  WeightFormat format = WeightFormat(GetParam());
  for (int64_t width : {512, 612, 97}) {
    int64_t vocabulary = 100, padded = roundUp(width, 32);
    RandomWeight w(format, vocabulary, width, 7);
    std::string weight = "!lm.weight<100x" + std::to_string(width) + ", " + std::string(w.format.name) + ">";
    std::string y = "!kernel.rows<" + std::to_string(width) + ", f32>";
    KernelModule module("kernel.func @k(%w: " + weight + ", %y: " + y + ") {\n kernel.gather %w : " + weight + " outs(%y : " + y +
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

INSTANTIATE_TEST_SUITE_P(All, GatherFormats, testing::Range(0, kWeightFormatCount), [](const auto &info) {
  return std::string(numericFormat(WeightFormat(info.param)).name);
});

} // namespace
