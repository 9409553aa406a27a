//===- SeedTest.cpp - Weights that a device generates from a seed ------------===//
//
// The bytes must equal those that the host generates (runtime/formats/DummyFragments.cpp), for every
// format and for shapes that fill no tile, run or block.
//===----------------------------------------------------------------------===//
#include "CudaRunner.h"
#include "runtime/formats/DummyWeights.h"

using namespace ingot;
using namespace ingot::codegen::cuda;
using namespace ingot::codegen::cuda::test;

namespace {

class Seed : public testing::TestWithParam<int> {
protected:
  static const HostKernels &kernels(bool checked) {
    static HostKernels builds[] = {HostKernels(programs(), false), HostKernels(programs(), true)};
    return builds[checked];
  }
  static std::vector<CudaProgram> programs() {
    std::vector<CudaProgram> all;
    for (int format = 0; format < kWeightFormatCount; ++format)
      all.push_back(seedProgram(WeightFormat(format)));
    return all;
  }
};

TEST_P(Seed, FillsWhatTheHostFills) {
  WeightFormat format = WeightFormat(GetParam());
  const NumericFormat &f = numericFormat(format);
  std::string symbol = "seed_" + std::string(f.name);
  for (bool checked : {false, true}) {
    ASSERT_TRUE(bool(kernels(checked)));
    Emulated device(kernels(checked));
    for (auto [n, k] : {std::pair<int64_t, int64_t>{16, 256}, {41, 3 * 256}, {5, 17}, {32, 840}}) {
      k = roundUp(k, f.block()); // K must be a multiple of the format's block
      FragmentLayout layout = fragmentLayout(format, n, k);
      uint64_t seed = 99 + uint64_t(k), tensor = 7;
      std::vector<std::byte> expected(size_t(layout.bytes()));
      fillSeedFragments(seed, tensor, layout, 0, expected);
      std::byte *out = device.put(std::vector<std::byte>(expected.size()), "weight", false);
      void *arguments[] = {&out, &seed, &tensor, &n, &k};
      emulator::Launch launch;
      launch.name = symbol, launch.entry = kernels(checked).entry(symbol);
      launch.arguments = arguments;
      launch.grid.x = uint32_t(layout.tiles);
      launch.block.x = kernels(checked).variant(symbol).threads;
      ASSERT_TRUE(bool(device.device->launch(launch)));
      for (const emulator::Finding &finding : device.device->findings())
        ADD_FAILURE() << finding.format();
      EXPECT_EQ(device.get(out, expected.size()), expected) << n << " x " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Seed, testing::Range(0, kWeightFormatCount), [](const auto &info) {
  return std::string(numericFormat(WeightFormat(info.param)).name);
});

} // namespace
